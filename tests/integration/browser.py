#!/usr/bin/python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""A headless Chromium for tests, driven over its DevTools pipe: nothing to install beside it.

usage: browser.py [--dark] [--phone] URL STEP...

Steps, one after the other; the first that does not come about ends it with status 1:
  until=EXPRESSION    waits until the page's JavaScript EXPRESSION is true
  print=EXPRESSION    prints its value
  go=HASH             goes to another part of the page, e.g. '#task/7'
  view=KIND[,KIND]    looks at it from now on as it is dark or light, on a phone or a desk; what is not said is light, and a desk
  key=NAME            presses a key: Tab, Enter
  tabs=               presses Tab from the top until all that takes the focus had it: prints each element's #id, or that of
                      what holds it, with its text
  tree=               prints what a screen reader is told: a line 'ROLE: NAME' for each node of the accessibility tree
  contrast=RATIO      fails with the texts that stand out less from what is behind them
  type=FILE           types what is in a file into what has the focus
  shot=FILE           writes a PNG of the whole page
  screen=FILE         ... of what is seen of it without scrolling
"""
import base64
import json
import os
import select
import shutil
import subprocess
import sys
import tempfile
import time

# Texts that are seen, with less contrast than RATIO by WCAG 2's formula: each once by its colours. Of what is half transparent
# nothing is known.
CONTRAST = """((ratio) => {
  const parts = (text) => (text.match(/[0-9.]+/g) || []).map(Number);
  const linear = (part) => (part /= 255, part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4);
  const luminance = ([r, g, b]) => 0.2126 * linear(r) + 0.7152 * linear(g) + 0.0722 * linear(b);
  const behind = (node) => {
    for (; node; node = node.parentElement) {
      const colour = parts(getComputedStyle(node).backgroundColor);
      if (colour.length === 3 || colour[3] === 1) return colour;
    }
    return [255, 255, 255];
  };
  const weak = new Map();
  const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (texts.nextNode()) {
    const node = texts.currentNode.parentElement;
    if (!texts.currentNode.data.trim() || !node.checkVisibility() || node.closest('title, script, noscript')) continue;
    const style = getComputedStyle(node);
    const ink = parts(node instanceof SVGElement ? style.fill : style.color);
    const paper = behind(node);
    const [low, high] = [luminance(ink), luminance(paper)].sort((a, b) => a - b);
    const found = (high + 0.05) / (low + 0.05);
    if (found < ratio) weak.set(`${ink} on ${paper}`, `${found.toFixed(2)}: ${ink} on ${paper}: ${texts.currentNode.data.trim()}`);
  }
  return [...weak.values()];
})(%s)"""

# Lists the elements that get the focus, until one gets it again: the nearest id, the element, its text.
WALK = """(() => {
  const seen = new Set();
  const say = (node) => node.getAttribute('aria-label') || node.innerText || node.getAttribute('aria-labelledby') || '';
  if (window.walked) walked.stop.abort();
  window.walked = { steps: [], whole: false, stop: new AbortController() };
  document.activeElement.blur();
  getSelection().setPosition(document.body, 0);
  document.addEventListener('focusin', ({ target }) => {
    const holder = target.closest('[id]');
    if (seen.has(target)) walked.whole = true;
    if (!walked.whole) walked.steps.push(`#${holder ? holder.id : ''} ${target.tagName.toLowerCase()} ${say(target).trim().split('\\n')[0].slice(0, 60)}`);
    seen.add(target);
  }, { signal: walked.stop.signal });
})()"""

# For what hangs: a loaded machine takes long to start a browser.
PATIENCE_S = 120


class Browser:
    def __init__(self, profile):
        to_read, self.to = os.pipe()
        self.answers, from_write = os.pipe()
        command = ["chromium", "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
                   "--no-first-run", "--disable-background-networking", "--disable-component-update",
                   "--disable-extensions", "--disable-sync", "--hide-scrollbars", "--remote-debugging-pipe",
                   "--user-data-dir=" + profile, "about:blank"]

        # It reads descriptor 3 and writes to 4.
        def wire():
            read, write = os.dup(to_read), os.dup(from_write)
            os.dup2(read, 3)
            os.dup2(write, 4)

        self.process = subprocess.Popen(command, preexec_fn=wire, close_fds=False, stdin=subprocess.DEVNULL,
                                        stdout=subprocess.DEVNULL, stderr=open(profile + "/stderr", "w"),
                                        start_new_session=True)
        os.close(to_read)
        os.close(from_write)
        self.deadline = time.monotonic() + PATIENCE_S
        self.number = 0
        self.session = None
        self.buffer = b""
        self.complaints = []

    def read_message(self):
        while b"\0" not in self.buffer:
            left = self.deadline - time.monotonic()
            if left <= 0 or not select.select([self.answers], [], [], left)[0]:
                raise TimeoutError("the browser gave no answer in time")
            part = os.read(self.answers, 1 << 16)
            if not part:
                raise EOFError("the browser ended")
            self.buffer += part
        text, self.buffer = self.buffer.split(b"\0", 1)
        return json.loads(text)

    def call(self, method, **parameters):
        self.number += 1
        message = {"id": self.number, "method": method, "params": parameters}
        if self.session:
            message["sessionId"] = self.session
        os.write(self.to, json.dumps(message).encode() + b"\0")
        while True:
            answer = self.read_message()
            if answer.get("id") == self.number:
                if "error" in answer:
                    raise RuntimeError(method + ": " + answer["error"]["message"])
                return answer["result"]
            self.note(answer)

    # What went wrong within the page: exceptions, and what its security policy or the server refused.
    def note(self, event):
        parameters = event.get("params", {})
        if event.get("method") == "Runtime.exceptionThrown":
            detail = parameters["exceptionDetails"]
            self.complaints.append(detail.get("exception", {}).get("description") or detail["text"])
        elif event.get("method") == "Log.entryAdded" and parameters["entry"]["source"] == "security":
            self.complaints.append(parameters["entry"]["text"])

    def value(self, expression):
        answer = self.call("Runtime.evaluate", expression=expression, returnByValue=True)
        if "exceptionDetails" in answer:
            raise RuntimeError(expression + ": " + json.dumps(answer["exceptionDetails"]))
        return answer["result"].get("value")

    # A document that goes away meanwhile, for another one or for a reload, says neither yes nor no.
    def holds(self, expression):
        try:
            return self.value(expression)
        except RuntimeError as error:
            if not any(words in str(error) for words in ("navigated or closed", "context was destroyed", "Cannot find context")):
                raise
            return False

    # What cannot be evaluated yet is not true yet: a document begins as nothing.
    def until(self, expression):
        self.deadline = time.monotonic() + PATIENCE_S
        attempt = "(() => { try { return Boolean(%s); } catch (error) { return false; } })()" % expression
        while not self.holds(attempt):
            if time.monotonic() > self.deadline - 1:
                raise TimeoutError("did not come about: %s; the page:\n%s" %
                                   (expression, self.value("document.body.innerText")))
            time.sleep(0.1)

    def view(self, kinds):
        phone = "phone" in kinds
        self.call("Emulation.setDeviceMetricsOverride", width=390 if phone else 1280, height=844 if phone else 900,
                  deviceScaleFactor=1, mobile=phone)
        self.call("Emulation.setEmulatedMedia",
                  features=[{"name": "prefers-color-scheme", "value": "dark" if "dark" in kinds else "light"}])

    def open(self, url, kinds):
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        self.call("Runtime.enable")
        self.call("Log.enable")
        self.call("Page.enable")
        self.view(kinds)
        self.call("Emulation.setFocusEmulationEnabled", enabled=True)
        self.call("Page.navigate", url=url)

    def press(self, name):
        codes = {"Tab": 9, "Enter": 13}
        text = {"text": "\r"} if name == "Enter" else {}
        for kind in ("keyDown", "keyUp"):
            self.call("Input.dispatchKeyEvent", type=kind, key=name, code=name, windowsVirtualKeyCode=codes[name],
                      **(text if kind == "keyDown" else {}))

    def walk(self):
        steps = []
        self.value(WALK)
        while True:
            for _ in range(40):
                self.press("Tab")
            before, steps = steps, self.value("walked.steps")
            if self.value("walked.whole") or len(steps) == len(before):
                return steps

    def tree(self):
        def text(node, key):
            return str(node.get(key, {}).get("value", ""))

        nodes = self.call("Accessibility.getFullAXTree")["nodes"]
        return [text(node, "role") + ": " + text(node, "name") for node in nodes if not node.get("ignored")]

    def shoot(self, path, part="cssContentSize"):
        size = self.call("Page.getLayoutMetrics")[part]
        clip = {"x": 0, "y": 0, "width": size.get("width") or size["clientWidth"],
                "height": size.get("height") or size["clientHeight"], "scale": 1}
        data = self.call("Page.captureScreenshot", format="png", captureBeyondViewport=True, clip=clip)["data"]
        with open(path, "wb") as file:
            file.write(base64.b64decode(data))

    def end(self):
        self.process.terminate()
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()


def step(browser, text):
    name, _, value = text.partition("=")
    if name == "until":
        browser.until(value)
    elif name == "print":
        answer = browser.value(value)
        print(answer if isinstance(answer, str) else json.dumps(answer))
    elif name == "go":
        browser.value("location.hash = " + json.dumps(value))
    elif name == "view":
        browser.view(value.split(","))
    elif name == "key":
        browser.press(value)
    elif name == "tabs":
        print("\n".join(browser.walk()))
    elif name == "tree":
        print("\n".join(browser.tree()))
    elif name == "contrast":
        weak = browser.value(CONTRAST % float(value))
        if weak:
            raise RuntimeError("the text is hard to read: " + "; ".join(weak))
    elif name == "type":
        with open(value) as file:
            browser.call("Input.insertText", text=file.read().strip())
    elif name == "shot":
        browser.shoot(value)
    elif name == "screen":
        browser.shoot(value, "cssLayoutViewport")
    else:
        raise ValueError("unknown step: " + text)


def main(arguments):
    options = {option for option in arguments if option in ("--dark", "--phone")}
    url, *steps = [argument for argument in arguments if argument not in options]
    profile = tempfile.mkdtemp(prefix="virtbed-browser-")
    browser = Browser(profile)
    try:
        browser.open(url, {option.strip("-") for option in options})
        for text in steps:
            browser.deadline = time.monotonic() + PATIENCE_S
            step(browser, text)
        browser.value("0")
        for complaint in browser.complaints:
            print("the page complains: " + complaint, file=sys.stderr)
        return 1 if browser.complaints else 0
    except (TimeoutError, EOFError, RuntimeError) as error:
        print(error, file=sys.stderr)
        for complaint in browser.complaints:
            print("the page complains: " + complaint, file=sys.stderr)
        return 1
    finally:
        browser.end()
        shutil.rmtree(profile, ignore_errors=True)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
