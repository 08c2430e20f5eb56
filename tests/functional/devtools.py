"""A Chromium of our own, spoken to in the DevTools protocol through its pipe: no port, no driver."""

import fcntl
import json
import os
import pathlib
import shutil
import signal
import tempfile
import threading
import time

from program import SLOW

BINARY = "/usr/bin/chromium"
SWITCHES = [
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
    "--disable-default-apps", "--disable-extensions", "--remote-debugging-pipe",
    "--no-default-browser-check", "--lang=en",
]
ANSWER_S = 60 * SLOW


class Browser:
    """One process; contexts of it share nothing with each other."""

    def __init__(self):
        self._profile = tempfile.mkdtemp(prefix="nl6-chromium-")
        to_read, self._write = os.pipe()
        self._read, to_write = os.pipe()
        # The pipe's ends must become 3 and 4; moved up first, they cannot overwrite each other.
        ends = [fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, 20) for fd in (to_read, to_write)]
        os.close(to_read)
        os.close(to_write)
        home = {"HOME": self._profile, "XDG_CONFIG_HOME": self._profile,
                "XDG_CACHE_HOME": self._profile}
        log = os.open(os.path.join(self._profile, "log"), os.O_WRONLY | os.O_CREAT, 0o600)
        self._pid = os.posix_spawn(
            BINARY, [BINARY, *SWITCHES, f"--user-data-dir={self._profile}", "about:blank"],
            {**os.environ, **home}, setsid=True,
            file_actions=[(os.POSIX_SPAWN_DUP2, ends[0], 3), (os.POSIX_SPAWN_DUP2, ends[1], 4),
                          (os.POSIX_SPAWN_DUP2, log, 1), (os.POSIX_SPAWN_DUP2, log, 2)])
        for fd in (*ends, log):
            os.close(fd)
        self._changed = threading.Condition()
        self._answers = {}
        self._pages = {}
        self._last_id = 0
        self._closed = False
        threading.Thread(target=self._receive, daemon=True).start()
        self.call("Browser.getVersion")

    def _receive(self):
        pending = b""
        while chunk := os.read(self._read, 1 << 16):
            *messages, pending = (pending + chunk).split(b"\0")
            for raw in messages:
                message = json.loads(raw)
                with self._changed:
                    if "id" in message:
                        self._answers[message["id"]] = message
                    elif page := self._pages.get(message.get("sessionId")):
                        page.on_event(message["method"], message["params"])
                    self._changed.notify_all()
        with self._changed:
            self._closed = True
            self._changed.notify_all()

    def call(self, method, session=None, **params):
        message = {"method": method, "params": params}
        if session:
            message["sessionId"] = session
        with self._changed:
            self._last_id += 1
            number = message["id"] = self._last_id
        data = json.dumps(message).encode() + b"\0"
        while data:
            data = data[os.write(self._write, data):]
        with self._changed:
            self._changed.wait_for(lambda: number in self._answers or self._closed, ANSWER_S)
            answer = self._answers.pop(number, None)
        if answer is None:
            log = pathlib.Path(self._profile, "log").read_text(errors="replace")
            raise TimeoutError(f"Chromium gave no answer to {method}: {log[-2000:]}")
        if "error" in answer:
            raise RuntimeError(f"{method}: {answer['error']['message']}")
        return answer["result"]

    def page(self, **kwargs):
        return Page(self, **kwargs)

    def adopt(self, session, page):
        with self._changed:
            self._pages[session] = page

    def close(self):
        try:
            self.call("Browser.close")
        except (TimeoutError, RuntimeError, OSError):
            pass
        deadline = time.monotonic() + 10
        while os.waitpid(self._pid, os.WNOHANG) == (0, 0):
            if time.monotonic() > deadline:
                os.killpg(self._pid, signal.SIGKILL)
                os.waitpid(self._pid, 0)
                break
            time.sleep(0.05)
        os.close(self._write)
        shutil.rmtree(self._profile, ignore_errors=True)


# What Input.dispatchKeyEvent needs to know of a key: code, virtual key, text.
KEYS = {
    "Tab": ("Tab", 9, ""), "Enter": ("Enter", 13, "\r"), "Escape": ("Escape", 27, ""),
    "Space": ("Space", 32, " "), "ArrowDown": ("ArrowDown", 40, ""),
    "ArrowUp": ("ArrowUp", 38, ""), "Backspace": ("Backspace", 8, ""),
}


class Page:
    """A tab in a context of its own, which remembers all that went wrong in it."""

    def __init__(self, browser, width=1280, height=800, scheme="light"):
        self._browser = browser
        self.errors = []    # exceptions, console.error, failed policy
        self.failed = []    # (status, url) of answers from 400 on
        self.requests = []  # (method, url)
        self._context = browser.call("Target.createBrowserContext")["browserContextId"]
        target = browser.call("Target.createTarget", url="about:blank",
                              browserContextId=self._context)["targetId"]
        self._session = browser.call("Target.attachToTarget", targetId=target,
                                     flatten=True)["sessionId"]
        browser.adopt(self._session, self)
        for domain in ("Page", "Runtime", "Log", "Network", "Audits", "Accessibility"):
            self.call(f"{domain}.enable")
        self.resize(width, height)
        self.scheme(scheme)

    def call(self, method, **params):
        return self._browser.call(method, self._session, **params)

    def on_event(self, method, params):
        """Called by the reading thread."""
        if method == "Runtime.exceptionThrown":
            details = params["exceptionDetails"]
            self.errors.append(details.get("exception", {}).get("description", details["text"]))
        elif method == "Runtime.consoleAPICalled" and params["type"] in ("error", "warning"):
            self.errors.append(str([a.get("value") for a in params["args"]]))
        elif method == "Log.entryAdded":
            entry = params["entry"]
            # Chromium notes every answer from 400 on and every lost one; self.failed has those.
            if entry["level"] in ("error", "warning") and entry["source"] != "network":
                self.errors.append(f"{entry['source']}: {entry['text']}")
        elif method == "Audits.issueAdded":
            issue = params["issue"]
            if issue["code"] == "ContentSecurityPolicyIssue":
                self.errors.append(str(issue["details"]))
        elif method == "Network.requestWillBeSent":
            self.requests.append((params["request"]["method"], params["request"]["url"]))
        elif method == "Network.responseReceived" and params["response"]["status"] >= 400:
            self.failed.append((params["response"]["status"], params["response"]["url"]))

    def resize(self, width, height):
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height,
                  deviceScaleFactor=1, mobile=False)

    def scheme(self, scheme):
        self.call("Emulation.setEmulatedMedia",
                  features=[{"name": "prefers-color-scheme", "value": scheme}])

    def grant(self, *permissions):
        self._browser.call("Browser.grantPermissions", permissions=list(permissions),
                           browserContextId=self._context)

    def downloads_to(self, folder):
        self._browser.call("Browser.setDownloadBehavior", behavior="allow",
                           browserContextId=self._context, downloadPath=str(folder))

    @staticmethod
    def downloaded(folder, suffix, seconds=20):
        """The bytes of the file so named, once it is whole."""
        deadline = time.monotonic() + seconds * SLOW
        while True:
            # Chromium writes under another name and renames at the end.
            if found := list(folder.glob(f"*{suffix}")):
                return found[0].read_bytes()
            assert time.monotonic() < deadline, f"no {suffix} in {list(folder.iterdir())}"
            time.sleep(0.05)

    def open(self, url):
        self.call("Page.navigate", url="about:blank")
        self.call("Page.navigate", url=url)

    def reload(self):
        self.call("Page.reload")

    def js(self, expression):
        answer = self.call("Runtime.evaluate", expression=expression, returnByValue=True,
                           awaitPromise=True, userGesture=True)
        if "exceptionDetails" in answer:
            details = answer["exceptionDetails"]
            raise RuntimeError(details.get("exception", {}).get("description", details["text"]))
        return answer["result"].get("value")

    def wait(self, expression, seconds=20):
        """Until the expression is true."""
        deadline = time.monotonic() + seconds * SLOW
        while True:
            try:
                if self.js(f"Boolean({expression})"):
                    return
                seen = "false"
            except RuntimeError as error:  # the document is just being replaced
                seen = str(error)
            if time.monotonic() > deadline:
                text = self.js("document.body.innerText")
                raise AssertionError(f"never true: {expression} ({seen})\n{text[:1500]}")
            time.sleep(0.05)

    def wait_text(self, selector, text, seconds=20):
        self.wait(f"[...document.querySelectorAll({json.dumps(selector)})]"
                  f".some((e) => e.textContent.includes({json.dumps(text)}))", seconds)

    def text(self, selector):
        return self.js(f"document.querySelector({json.dumps(selector)})?.innerText ?? null")

    def texts(self, selector):
        return self.js(f"[...document.querySelectorAll({json.dumps(selector)})]"
                       ".map((e) => e.innerText.trim())")

    def click(self, selector):
        """With the mouse, where a person would; the element must be there and on top."""
        self.wait(f"document.querySelector({json.dumps(selector)})")
        box = self.js(f"""(() => {{
            const e = document.querySelector({json.dumps(selector)});
            e.scrollIntoView({{block: "center", behavior: "instant"}});
            const r = e.getBoundingClientRect(), x = r.x + r.width / 2, y = r.y + r.height / 2;
            return {{x, y, on: e.contains(document.elementFromPoint(x, y))}};
        }})()""")
        assert box["on"], f"{selector} is covered"
        for kind in ("mousePressed", "mouseReleased"):
            self.call("Input.dispatchMouseEvent", type=kind, x=box["x"], y=box["y"],
                      button="left", clickCount=1)

    def press(self, key, times=1, shift=False):
        code, number, text = KEYS[key]
        name = " " if key == "Space" else key
        for _ in range(times):
            for kind in ("keyDown", "keyUp"):
                self.call("Input.dispatchKeyEvent", type=kind, key=name, code=code, text=text
                          if kind == "keyDown" else "", windowsVirtualKeyCode=number,
                          modifiers=8 if shift else 0)

    def type(self, text):
        """Into what has the focus, in place of what is selected there."""
        self.call("Input.insertText", text=text)

    def fill(self, selector, text):
        self.click(selector)
        self.js(f"document.querySelector({json.dumps(selector)}).select()")
        self.type(text)

    def focused(self):
        return self.js("""(() => {
            const e = document.activeElement;
            return (e.getAttribute("aria-label") ?? e.labels?.[0]?.innerText ?? e.innerText).trim();
        })()""")

    def tab_to(self, name, limit=80):
        """Presses Tab until what has this name has the focus."""
        seen = []
        for _ in range(limit):
            self.press("Tab")
            seen.append(self.focused())
            if seen[-1].startswith(name):
                return
        raise AssertionError(f"Tab never came to {name!r}: {seen}")

    def close(self):
        self._browser.call("Target.disposeBrowserContext", browserContextId=self._context)
