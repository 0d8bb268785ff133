"""Drives a headless Chromium over the DevTools protocol, with nothing but the standard library."""

import base64
import json
import os
import pathlib
import re
import shutil
import socket
import struct
import subprocess
import tempfile
import time
import urllib.parse

TIMEOUT_S = 60


class WebSocket:
    """A client of RFC 6455: text messages, no extensions."""

    def __init__(self, url):
        place = urllib.parse.urlparse(url)
        self.socket = socket.create_connection((place.hostname, place.port), timeout=TIMEOUT_S)
        key = base64.b64encode(os.urandom(16)).decode()
        self.socket.sendall(
            (
                f"GET {place.path} HTTP/1.1\r\nHost: {place.netloc}\r\nUpgrade: websocket\r\n"
                f"Connection: Upgrade\r\nSec-WebSocket-Key: {key}\r\n"
                "Sec-WebSocket-Version: 13\r\n\r\n"
            ).encode()
        )
        self.stream = self.socket.makefile("rb")
        status = self.stream.readline()
        if b" 101 " not in status:
            raise ConnectionError(f"no WebSocket: {status!r}")
        while self.stream.readline().strip():
            pass

    def send(self, text):
        data = text.encode()
        if len(data) < 126:
            header = struct.pack("!BB", 0x81, 0x80 | len(data))
        elif len(data) < 1 << 16:
            header = struct.pack("!BBH", 0x81, 0x80 | 126, len(data))
        else:
            header = struct.pack("!BBQ", 0x81, 0x80 | 127, len(data))
        # A mask of zeros leaves the data as it is.
        self.socket.sendall(header + bytes(4) + data)

    def receive(self):
        parts = []
        while True:
            first, second = self.stream.read(2)
            length = second & 0x7F
            if length == 126:
                (length,) = struct.unpack("!H", self.stream.read(2))
            elif length == 127:
                (length,) = struct.unpack("!Q", self.stream.read(8))
            payload = self.stream.read(length)
            if first & 0x0F in (0, 1):
                parts.append(payload)
                if first & 0x80:
                    return b"".join(parts).decode()

    def close(self):
        self.stream.close()
        self.socket.close()


def processor_seconds(root):
    """Of a process and those that come from it, as far as they live: the processor time of each."""
    parents, ticks = {}, {}
    for stat in pathlib.Path("/proc").glob("[0-9]*/stat"):
        try:
            pid, rest = int(stat.parent.name), stat.read_text().rpartition(")")[2].split()
        except OSError:  # It has ended.
            continue
        parents[pid], ticks[pid] = int(rest[1]), int(rest[11]) + int(rest[12])

    def comes_from_root(pid):
        while pid != root and pid in parents:
            pid = parents[pid]
        return pid == root

    return {pid: ticks[pid] / os.sysconf("SC_CLK_TCK") for pid in ticks if comes_from_root(pid)}


class Browser:
    """One Chromium with one page. `problems` gathers what its console and its errors say."""

    def __init__(self, width=1280, height=900):
        self.profile = tempfile.mkdtemp(prefix="detcheck-browser-")
        self.process = subprocess.Popen(
            [
                find_chromium(),
                "--headless=new",
                "--no-sandbox",
                "--disable-gpu",
                "--disable-dev-shm-usage",
                "--no-first-run",
                "--disable-extensions",
                "--disable-background-networking",
                "--hide-scrollbars",
                "--remote-debugging-port=0",
                f"--user-data-dir={self.profile}",
                f"--window-size={width},{height}",
                "about:blank",
            ],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
        )
        self.problems = []
        self.requests = []
        self.dialogs = []
        self.events = []
        self.last_id = 0
        self.session = None
        self.socket = WebSocket(self.endpoint())
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        attached = self.call("Target.attachToTarget", targetId=target, flatten=True)
        self.session = attached["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")
        self.resize(width, height)

    def endpoint(self):
        for line in self.process.stderr:
            found = re.search(r"DevTools listening on (ws://\S+)", line)
            if found:
                return found[1]
        raise RuntimeError("Chromium did not start")

    def close(self):
        self.socket.close()
        self.process.terminate()
        self.process.wait(TIMEOUT_S)
        self.process.stderr.close()
        shutil.rmtree(self.profile, ignore_errors=True)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def call(self, method, **parameters):
        self.last_id += 1
        message = {"id": self.last_id, "method": method, "params": parameters}
        if self.session:
            message["sessionId"] = self.session
        self.socket.send(json.dumps(message))
        while True:
            answer = json.loads(self.socket.receive())
            if answer.get("id") == self.last_id:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']}")
                return answer["result"]
            self.note(answer)

    def note(self, event):
        method = event.get("method")
        parameters = event.get("params", {})
        self.events.append(method)
        if method == "Runtime.exceptionThrown":
            details = parameters["exceptionDetails"]
            self.problems.append(details.get("exception", {}).get("description", details["text"]))
        elif method == "Runtime.consoleAPICalled":
            self.problems.append(str(parameters["args"]))
        elif method == "Log.entryAdded":
            self.problems.append(parameters["entry"]["text"])
        elif method == "Network.requestWillBeSent":
            self.requests.append(parameters["request"]["url"])
        elif method == "Page.javascriptDialogOpening":
            self.dialogs.append(parameters["message"])
            self.last_id += 1
            closing = {"id": self.last_id, "method": "Page.handleJavaScriptDialog"}
            closing |= {"params": {"accept": False}, "sessionId": self.session}
            self.socket.send(json.dumps(closing))

    def wait_for(self, event):
        while event not in self.events:
            self.note(json.loads(self.socket.receive()))

    def load(self, path):
        self.problems.clear()
        self.requests.clear()
        self.events.clear()
        self.call("Page.navigate", url=pathlib.Path(path).resolve().as_uri())
        self.wait_for("Page.loadEventFired")

    def open(self, path):
        """Loads the file; returns how many seconds it took, to its first frame after load: by the clock, or of processor
        time of all the browser's processes, where that is less, as it is where other work keeps the machine busy."""
        begin, before = time.monotonic(), processor_seconds(self.process.pid)
        self.load(path)
        self.next_frame()
        after = processor_seconds(self.process.pid)
        return min(time.monotonic() - begin, sum(after[pid] - before.get(pid, 0) for pid in after))

    def next_frame(self):
        self.evaluate("new Promise((done) => requestAnimationFrame(() => setTimeout(done)))")

    def evaluate(self, script):
        """The value of a JavaScript expression, awaited where it is a promise."""
        result = self.call(
            "Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True
        )
        if "exceptionDetails" in result:
            raise RuntimeError(result["exceptionDetails"]["exception"]["description"])
        return result["result"].get("value")

    def press(self, key, text=None, modifiers=0):
        code = {"Tab": 9, "Enter": 13, " ": 32}.get(key, 0)
        event = {"key": key, "modifiers": modifiers, "windowsVirtualKeyCode": code}
        if text:
            event["text"] = text
        self.call("Input.dispatchKeyEvent", type="keyDown" if text else "rawKeyDown", **event)
        self.call("Input.dispatchKeyEvent", type="keyUp", **event)

    def click(self, x, y):
        for kind in ("mousePressed", "mouseReleased"):
            self.call(
                "Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", clickCount=1
            )

    def prefer(self, scheme):
        self.call(
            "Emulation.setEmulatedMedia",
            features=[{"name": "prefers-color-scheme", "value": scheme}],
        )
        # The page hears of it in one frame and draws in the next.
        self.next_frame()
        self.next_frame()

    def resize(self, width, height):
        self.call(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=1,
            mobile=False,
        )

    def screenshot(self, path, whole=False):
        shot = self.call("Page.captureScreenshot", format="png", captureBeyondViewport=whole)
        pathlib.Path(path).write_bytes(base64.b64decode(shot["data"]))


def find_chromium():
    for name in ("chromium", "chromium-browser", "google-chrome"):
        path = shutil.which(name)
        if path:
            return path
    raise RuntimeError("no Chromium: install the package chromium")
