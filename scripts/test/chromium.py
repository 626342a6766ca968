"""For tests of pages: headless Chromium over its DevTools protocol, with Python's own library."""

import base64
import json
import os
import pathlib
import shutil
import socket
import struct
import subprocess
import tempfile
import time
import urllib.request

NAMES = ("chromium", "chromium-browser", "google-chrome")


def find_chromium():
    """$CHROMIUM, or the first that is installed, or None."""
    return os.environ.get("CHROMIUM") or next(filter(None, map(shutil.which, NAMES)), None)


class Socket:
    """The client's end of a WebSocket (RFC 6455), texts only."""

    def __init__(self, url):
        host, _, path = url.partition("://")[2].partition("/")
        name, _, port = host.partition(":")
        self.socket = socket.create_connection((name, int(port)), timeout=60)
        key = base64.b64encode(os.urandom(16)).decode()
        self.socket.sendall(f"GET /{path} HTTP/1.1\r\nHost: {host}\r\nUpgrade: websocket\r\n"
                            f"Connection: Upgrade\r\nSec-WebSocket-Key: {key}\r\n"
                            "Sec-WebSocket-Version: 13\r\n\r\n".encode())
        answer = b""
        while not answer.endswith(b"\r\n\r\n"):
            answer += self.socket.recv(1)

    def send(self, text):
        data, mask = text.encode(), os.urandom(4)
        size = len(data)
        head = bytes([0x81]) + (bytes([0x80 | size]) if size < 126 else
                                bytes([0x80 | 126]) + struct.pack(">H", size) if size < 65536 else
                                bytes([0x80 | 127]) + struct.pack(">Q", size))
        self.socket.sendall(head + mask + bytes(b ^ mask[i % 4] for i, b in enumerate(data)))

    def exactly(self, size):
        parts = []
        while size > 0:
            part = self.socket.recv(min(size, 1 << 20))
            if not part:
                raise EOFError("the browser closed the connection")
            parts.append(part)
            size -= len(part)
        return b"".join(parts)

    def receive(self):
        whole = b""
        while True:
            first, second = self.exactly(2)
            size = second & 0x7F
            if size == 126:
                size = struct.unpack(">H", self.exactly(2))[0]
            elif size == 127:
                size = struct.unpack(">Q", self.exactly(8))[0]
            whole += self.exactly(size)
            if first & 0x80:
                return whole.decode()


class Browser:
    """One page. `complaints` gathers errors and warnings of the console, and what throws."""

    def __init__(self, program, width=1400, height=900):
        self.directory = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        self.process = subprocess.Popen(
            [program, "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars",
             "--no-first-run", "--remote-debugging-port=0", f"--window-size={width},{height}",
             f"--user-data-dir={self.directory.name}", "about:blank"],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.next, self.complaints, self.requests = 0, [], []
        port = self.read_port()
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/json/list", timeout=30) as answer:
            target = next(item for item in json.load(answer) if item["type"] == "page")
        self.socket = Socket(target["webSocketDebuggerUrl"])
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")

    def read_port(self):
        path = pathlib.Path(self.directory.name, "DevToolsActivePort")
        for _ in range(600):
            if path.exists() and path.read_text().strip():
                return int(path.read_text().split()[0])
            if self.process.poll() is not None:
                break
            time.sleep(0.1)
        raise EOFError("the browser does not start")

    def note(self, message):
        method, values = message.get("method"), message.get("params", {})
        if method == "Runtime.exceptionThrown":
            details = values["exceptionDetails"]
            self.complaints.append(details.get("exception", {}).get("description", details["text"]))
        elif method == "Runtime.consoleAPICalled" and values["type"] in ("error", "warning", "assert"):
            self.complaints.append(str(values["args"]))
        elif method == "Log.entryAdded" and values["entry"]["level"] in ("error", "warning"):
            self.complaints.append(values["entry"]["text"])
        elif method == "Network.requestWillBeSent":
            self.requests.append(values["request"]["url"])

    def call(self, method, **values):
        self.next += 1
        self.socket.send(json.dumps({"id": self.next, "method": method, "params": values}))
        while True:
            message = json.loads(self.socket.receive())
            if message.get("id") == self.next:
                if "error" in message:
                    raise RuntimeError(f"{method}: {message['error']}")
                return message["result"]
            self.note(message)

    def evaluate(self, expression):
        result = self.call("Runtime.evaluate", expression=expression, returnByValue=True,
                           awaitPromise=True)
        if "exceptionDetails" in result:
            raise RuntimeError(f"{expression}: {result['exceptionDetails']}")
        return result["result"].get("value")

    def settle(self):
        """Waits for two frames: the page has drawn what it was asked for."""
        self.evaluate("new Promise(done => requestAnimationFrame(() => "
                      "requestAnimationFrame(() => done(true))))")

    def open(self, path, dark=False):
        self.call("Emulation.setEmulatedMedia", features=[
            {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}])
        self.call("Page.navigate", url=pathlib.Path(path).resolve().as_uri())
        for _ in range(600):
            if self.evaluate("document.readyState === 'complete' && typeof sballoc === 'object'"):
                break
            time.sleep(0.1)
        self.settle()

    def mouse(self, kind, x, y, **more):
        self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, **more)

    def click(self, x, y):
        self.mouse("mouseMoved", x, y)
        for kind in ("mousePressed", "mouseReleased"):
            self.mouse(kind, x, y, button="left", buttons=1, clickCount=1)
        self.settle()

    def drag(self, x, y, to_x, to_y):
        self.mouse("mouseMoved", x, y)
        self.mouse("mousePressed", x, y, button="left", buttons=1, clickCount=1)
        for part in (1, 2, 3, 4):
            self.mouse("mouseMoved", x + (to_x - x) * part / 4, y + (to_y - y) * part / 4,
                       button="left", buttons=1)
        self.mouse("mouseReleased", to_x, to_y, button="left", clickCount=1)
        self.settle()

    def wheel(self, x, y, delta, **more):
        self.mouse("mouseWheel", x, y, deltaX=0, deltaY=delta, **more)
        self.settle()

    def type(self, text):
        self.call("Input.insertText", text=text)
        self.settle()

    def press(self, key, code, **more):
        for kind in ("keyDown", "keyUp"):
            self.call("Input.dispatchKeyEvent", type=kind, key=key, windowsVirtualKeyCode=code, **more)
        self.settle()

    def screenshot(self, path):
        data = self.call("Page.captureScreenshot", format="png")["data"]
        pathlib.Path(path).write_bytes(base64.b64decode(data))

    def close(self):
        self.process.terminate()
        self.process.wait()
        self.directory.cleanup()
