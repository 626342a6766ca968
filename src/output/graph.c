#include "output/graph.h"

#include "analysis/interfere.h"
#include "output/json_write.h"

/* The graph of one function's first round. */
typedef struct {
    Arena arena;
    const Func *func;
    Nodes nodes;
    Graph graph;
    uint64_t *first;  /* [nodes + 1] */
    uint32_t *sorted; /* neighbours of node n, ascending: sorted[first[n] .. first[n + 1]) */
} View;

/* Puts the neighbours of each node in order: each node in turn is handed to its neighbours. */
static void sort_rows(View *view) {
    uint32_t count = view->nodes.count;
    view->first = NEW_ARRAY(&view->arena, uint64_t, (size_t)count + 2);
    view->sorted = RAW_ARRAY(&view->arena, uint32_t, 2 * view->graph.edges);
    uint64_t *next = view->first + 1; /* while filling, where a node's row goes on */
    for (uint32_t node = 0; node < count; node++)
        next[node + 1] = next[node] + degree_of(&view->graph, node);
    uint32_t other;
    for (uint32_t node = 0; node < count; node++)
        for (NeighbourWalk walk = neighbours_of(&view->graph, node); next_neighbour(&walk, &other);)
            view->sorted[next[other]++] = node;
}

static void open_view(View *view, const Func *func) {
    *view = (View){.func = func};
    arena_init(&view->arena);
    Live live = live_range(func, &view->arena);
    view->nodes = renumber(func, &live, NULL, &view->arena);
    view->graph = build(&view->nodes, &view->arena);
    sort_rows(view);
}

/* Walks the edges, each once: for (GraphEdge edge = {0}; next_edge(view, &edge);) */
typedef struct {
    uint32_t node;
    uint64_t next;
    uint32_t other; /* > node */
} GraphEdge;

static bool next_edge(const View *view, GraphEdge *edge) {
    for (; edge->node < view->nodes.count; edge->node++) {
        uint64_t end = view->first[edge->node + 1];
        while (edge->next < end) {
            edge->other = view->sorted[edge->next++];
            if (edge->other > edge->node) return true;
        }
    }
    return false;
}

static const Tensor *tensor_of(const View *view, uint32_t node) {
    return &view->func->tensors[view->nodes.items[node].tensor];
}

static void write_dimacs_func(View *view, Writer *out) {
    write_text(out, "c function ");
    write_str(out, view->func->name);
    write_format(out, "\np edge %u %llu\n", view->nodes.count,
                 (unsigned long long)view->graph.edges);
    for (uint32_t node = 0; node < view->nodes.count; node++) {
        write_format(out, "c node %u ", node + 1);
        write_str(out, tensor_of(view, node)->name);
        write_char(out, '\n');
    }
    for (GraphEdge edge = {0}; next_edge(view, &edge);)
        write_format(out, "e %u %u\n", edge.node + 1, edge.other + 1);
}

void write_graph_dimacs(const Module *module, Writer *out) {
    for (uint32_t i = 0; i < module->nfuncs; i++) {
        View view;
        open_view(&view, &module->funcs[i]);
        write_dimacs_func(&view, out);
        arena_free(&view.arena);
    }
}

static void write_json_node(const View *view, uint32_t node, JsonOut *json) {
    const Tensor *tensor = tensor_of(view, node);
    json_open(json, '{');
    json_key(json, "id");
    json_int(json, node);
    json_key(json, "tensor");
    json_str(json, tensor->name);
    json_key(json, "class");
    json_int(json, view->nodes.items[node].class);
    json_key(json, "bytes");
    json_int(json, tensor->bytes);
    json_key(json, "blocks");
    json_int(json, tensor->blocks);
    json_close(json, '}');
}

static void write_json_func(View *view, JsonOut *json) {
    json_open(json, '{');
    json_key(json, "name");
    json_str(json, view->func->name);
    json_key(json, "nodes");
    json_open(json, '[');
    for (uint32_t node = 0; node < view->nodes.count; node++)
        write_json_node(view, node, json);
    json_close(json, ']');
    json_key(json, "edges");
    json_open(json, '[');
    for (GraphEdge edge = {0}; next_edge(view, &edge);) {
        json_open(json, '[');
        json_int(json, edge.node);
        json_int(json, edge.other);
        json_close(json, ']');
    }
    json_close(json, ']');
    json_close(json, '}');
}

void write_graph_json(const Module *module, Writer *out) {
    JsonOut json;
    json_begin(&json, out, false);
    json_open(&json, '{');
    json_key(&json, "functions");
    json_open(&json, '[');
    for (uint32_t i = 0; i < module->nfuncs; i++) {
        View view;
        open_view(&view, &module->funcs[i]);
        write_json_func(&view, &json);
        arena_free(&view.arena);
    }
    json_close(&json, ']');
    json_close(&json, '}');
    write_char(out, '\n');
}
