#include "driver/options.h"

#include "driver/strategy.h"

Options options_default(void) {
    return (Options){.emit = EMIT_PLACED,
                     .effort = 2,
                     .seed = 1,
                     .max_reloads = 65536,
                     .time_limit = 2700,
                     .dma_optlevel = 1,
                     .coalesce = true,
                     .split = true,
                     .remat = true,
                     .reload_elim = true,
                     .table = all_strategies(),
                     .verify = true};
}
