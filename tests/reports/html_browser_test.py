#!/usr/bin/env python3
"""Looks at pages of reports in a headless Chromium: html_browser_test.py FOLDER.

FOLDER is what write_html_fixture wrote. With `--screenshots FOLDER` it leaves pictures there.
"""

import argparse
import pathlib
import unittest

from html_browser import Browser

# Seconds, of this test on a busy machine of two cores.
LOAD_S = 2.0
KEY_S = 0.1
PAGES = ("pass", "diverging", "rich", "hostile", "large", "many_outputs")
SHIFT = 8

folder = pathlib.Path()
screenshots = None

# Of the first picture: its pixels, in a canvas that is made to be read.
COPY = """
  const shown = document.querySelector(".frame canvas");
  const copy = new OffscreenCanvas(shown.width, shown.height);
  const context = copy.getContext("2d", {willReadFrequently: true});
  context.drawImage(shown, 0, 0);
"""
PIXEL = "(() => {" + COPY + """
  const {data} = context.getImageData(%d, %d, 1, 1);
  return `rgb(${data[0]}, ${data[1]}, ${data[2]})`;
})()
"""
NUM_COLORS = "(() => {" + COPY + """
  const {data} = context.getImageData(0, 0, copy.width, copy.height);
  return new Set(new Uint32Array(data.buffer)).size;
})()
"""
# WCAG 2 contrast of the text of an element with what is behind it.
CONTRAST = """
((selector) => {
  const canvas = document.createElement("canvas").getContext("2d", {willReadFrequently: true});
  const over = (colors) => {
    for (const color of colors) { canvas.fillStyle = color; canvas.fillRect(0, 0, 1, 1); }
    const [r, g, b] = [...canvas.getImageData(0, 0, 1, 1).data].map((v) => {
      const c = v / 255;
      return c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4;
    });
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const behind = [];
  const element = document.querySelector(selector);
  for (let e = element; e; e = e.parentElement) behind.unshift(getComputedStyle(e).backgroundColor);
  const back = over(behind);
  const front = over([...behind, getComputedStyle(element).color]);
  return (Math.max(back, front) + 0.05) / (Math.min(back, front) + 0.05);
})(%r)
"""


class PageTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.browser = Browser()

    @classmethod
    def tearDownClass(cls):
        cls.browser.close()

    def setUp(self):
        self.browser.resize(1280, 900)
        self.browser.prefer("light")

    def tearDown(self):
        self.assertEqual(self.browser.problems, [])
        self.assertEqual(self.browser.dialogs, [])

    def open(self, name):
        seconds = self.browser.open(folder / f"{name}.html")
        self.js("document.documentElement.style.scrollBehavior = 'auto'")
        return seconds

    def assert_opens_fast(self, name):
        """Up to three times: other work on the machine may slow down one."""
        for _ in range(3):
            seconds = self.open(name)
            if seconds < LOAD_S:
                return
        self.fail(f"{name} opens in {seconds:.2f} s")

    def js(self, script):
        return self.browser.evaluate(script)

    def shoot(self, name):
        if screenshots:
            self.browser.screenshot(screenshots / f"{name}.png")

    def readout(self):
        return self.js("document.querySelector('.readout').textContent")

    def focus_picture(self):
        self.js("document.querySelector('.frame').focus()")

    def test_pages_open_without_errors_and_fetch_nothing(self):
        for name in PAGES:
            with self.subTest(name):
                self.assert_opens_fast(name)
                self.assertEqual(len(self.browser.requests), 1, self.browser.requests)
                self.assertEqual(self.browser.problems, [])
                self.shoot(name)

    def test_verdict_at_a_glance(self):
        for name, verdict in (("pass", "PASS"), ("diverging", "FAIL"), ("rich", "FAIL")):
            self.open(name)
            badge = "document.querySelector('h1 .badge')"
            self.assertIn(verdict, self.js(f"{badge}.innerText"))
            self.assertLess(self.js(f"{badge}.getBoundingClientRect().bottom"), 200)

    def test_picture_shows_the_divergence(self):
        self.open("diverging")
        self.assertGreater(self.js(NUM_COLORS), 20)
        token, same, small = (
            self.js(f"getComputedStyle(document.querySelector('.swatch.{name}')).backgroundColor")
            for name in ("token", "same", "small")
        )
        gutter, axis = 150, 20
        column = self.js(
            "(parseFloat(document.querySelector('.sizer').style.width) - 154) / 24"
        )
        bottom = self.js("document.querySelector('.frame canvas').height") - 20
        at = lambda position, y: self.js(PIXEL % (gutter + (position + 0.5) * column, y))
        self.assertEqual(at(3, bottom), same)
        self.assertEqual(at(7, bottom), small)
        self.assertEqual(at(12, bottom), token)
        self.assertEqual(at(12, axis + 4), same)

    def test_comparison_of_the_earliest_divergence(self):
        self.open("diverging")
        text = self.js("document.querySelector('.compare').innerText")
        for part in (
            "Answer B against the reference, at output position 9",
            "batch of 16, item 8",
            "token 10",
            "token 510\tnot told\t−0.500036 ● chosen",
            "● chosen",
            "Gap between the two best: 1 expected, 0.03125 actual",
            "fox jumps over",
            "hare jumps over",
            "Expected: step 10 of its batch, 1 row, 1 token",
            "Actual: step 10 of its batch, 16 rows, 16 tokens",
            "▸ item 8: q01 decodes",
            "numeric: logprobs differ",
        ):
            self.assertIn(part, text)

    def test_keyboard_reaches_and_opens_everything(self):
        self.open("pass")
        seen = []
        for _ in range(40):
            self.browser.press("Tab")
            seen.append(
                self.js("document.activeElement.className || document.activeElement.tagName")
            )
            self.assertNotEqual(
                self.js("getComputedStyle(document.activeElement).outlineStyle"), "none"
            )
            if seen[-1] == "SUMMARY":
                break
        self.assertEqual(seen[0], "skip")
        self.assertIn("BUTTON", seen)
        self.assertEqual(seen[-1], "SUMMARY")
        self.browser.press("Enter", "\r")
        self.js("new Promise((done) => setTimeout(done, 100))")
        self.assertTrue(self.js("document.activeElement.parentElement.open"))
        self.assertEqual(self.js("document.querySelectorAll('.frame').length"), 1)
        while self.js("document.activeElement.className") != "frame":
            self.browser.press("Tab")
        self.browser.press("Tab", modifiers=SHIFT)
        self.assertEqual(self.js("document.activeElement.tagName"), "SUMMARY")

    def test_arrow_keys_move_in_the_picture(self):
        self.open("diverging")
        self.focus_picture()
        self.assertIn("position 9: expected token 10, actual 510", self.readout())
        self.browser.press("ArrowLeft")
        self.assertIn("position 8: token 9, as expected, logprob differs by", self.readout())
        self.browser.press("Home")
        self.assertIn("position 0: token 1, as expected, same logprob bits", self.readout())
        self.assertIn(
            "Expected: step 1 of its batch, 1 row, 4 tokens",
            self.js("document.querySelector('.compare').innerText"),
        )
        self.browser.press("ArrowDown")
        self.assertIn("item 9", self.readout())
        self.browser.press("End")
        self.assertIn("position 23", self.readout())
        self.browser.press("Home", modifiers=2)
        self.assertIn("Answer A1, alone", self.readout())
        self.browser.press("d", "d")
        self.assertIn("Answer A2, batch of 8, item 0", self.readout())
        self.browser.press("d", "d")
        self.assertIn("Answer B, batch of 16, item 8", self.readout())

    def test_pointer_moves_in_the_picture(self):
        self.open("diverging")
        self.js("document.querySelector('.frame').scrollIntoView({block: 'center'})")
        box = self.js(
            "(({left, top}) => [left, top])"
            "(document.querySelector('.frame').getBoundingClientRect())"
        )
        self.browser.click(box[0] + 154, box[1] + 26)
        self.assertIn("Answer A1, alone", self.readout())
        self.assertIn("position 0", self.readout())

    def test_dark_mode_by_preference_and_by_button(self):
        self.open("diverging")
        body = "getComputedStyle(document.body).backgroundColor"
        light = (self.js(body), self.js(PIXEL % (160, 25)))
        self.browser.prefer("dark")
        dark = (self.js(body), self.js(PIXEL % (160, 25)))
        self.assertNotEqual(light[0], dark[0])
        self.assertNotEqual(light[1], dark[1])
        self.shoot("dark")
        self.js("document.getElementById('theme').click()")
        self.assertEqual((self.js(body), self.js(PIXEL % (160, 25))), light)
        self.browser.prefer("light")
        self.js("document.getElementById('theme').click()")
        self.assertEqual((self.js(body), self.js(PIXEL % (160, 25))), dark)

    def test_contrast(self):
        for scheme in ("light", "dark"):
            self.browser.prefer(scheme)
            self.open("diverging")
            for selector in (
                "h1 .badge", ".why", ".facts dt", ".tile span", ".modes a", "thead th",
                "summary .short", ".legend", ".hint", ".readout", ".strip td.differs",
                ".strip td.drifts",
                ".candidates .chosen", "mark", ".rows .own", "#theme", ".source", "pre",
            ):
                with self.subTest(f"{scheme}: {selector}"):
                    self.assertGreaterEqual(self.js(CONTRAST % selector), 4.5)

    def test_hostile_text_stays_text(self):
        self.open("hostile")
        self.assertIsNone(self.js("window.executed ?? null"))
        self.assertEqual(self.js("document.scripts.length"), 2)
        self.assertEqual(self.js("document.images.length"), 0)
        self.assertEqual(self.js("document.querySelectorAll('[onerror], [onfocus]').length"), 0)
        self.js("document.querySelectorAll('details').forEach((d) => { d.open = true; })")
        self.assertIn("</script><script>", self.js("document.querySelector('.compare').innerText"))
        self.focus_picture()
        for key in ("d", "ArrowRight", "ArrowUp"):
            self.browser.press(key, key if key == "d" else None)
        self.assertIn("<img src=x onerror", self.js("document.body.innerText"))
        self.assertIsNone(self.js("window.executed ?? null"))
        self.assertEqual(self.js("document.images.length"), 0)

    def test_policy_stops_what_would_slip_through(self):
        self.open("hostile")
        self.js(
            """
            const script = document.createElement("script");
            script.textContent = "window.executed = true";
            document.body.append(script);
            """
        )
        self.assertIsNone(self.js("window.executed ?? null"))
        self.assertIn("Content Security Policy", self.browser.problems.pop())

    def test_ten_thousand_samples_stay_responsive(self):
        self.assert_opens_fast("large")
        for fit in (True, False):
            self.focus_picture()
            self.assertLess(self.seconds_per_key(), KEY_S)
            self.assertGreater(self.js(NUM_COLORS), 20)
            self.js("document.querySelector('.tools button').click()")
        self.js("document.querySelector('.tools button').click()")
        self.focus_picture()
        self.browser.press("End", modifiers=2)
        self.assertGreater(self.js("document.querySelector('.frame').scrollTop"), 100000)
        self.assertIn("Answer C", self.readout())
        self.shoot("large_rows")

    def test_two_thousand_answers_stay_responsive(self):
        self.assert_opens_fast("many_outputs")
        self.focus_picture()
        self.assertLess(self.seconds_per_key(), KEY_S)

    def seconds_per_key(self):
        return self.js(
            """
            (() => {
              const frame = document.querySelector(".frame");
              const begin = performance.now();
              for (let i = 0; i < 20; ++i) {
                frame.dispatchEvent(new KeyboardEvent("keydown", {key: "ArrowDown"}));
              }
              return (performance.now() - begin) / 20 / 1000;
            })()
            """
        )

    def test_fits_a_narrow_screen(self):
        self.browser.resize(360, 740)
        for name in PAGES:
            self.open(name)
            self.js("document.querySelectorAll('details').forEach((d) => { d.open = true; })")
            self.js("new Promise((done) => setTimeout(done, 200))")
            with self.subTest(name):
                self.assertLessEqual(self.js("document.documentElement.scrollWidth"), 360)
            self.shoot(f"{name}_narrow")
        self.open("large")
        self.js("document.querySelector('.strip').scrollIntoView()")
        left, right = self.js(
            "(({left, right}) => [left, right])"
            "(document.querySelector('.strip td.here').getBoundingClientRect())"
        )
        self.assertGreater(left, 0)
        self.assertLess(right, 360)

    def test_without_script(self):
        self.browser.call("Emulation.setScriptExecutionDisabled", value=True)
        try:
            self.browser.load(folder / "diverging.html")
            text = self.js("document.body.innerText")
        finally:
            self.browser.call("Emulation.setScriptExecutionDisabled", value=False)
        for part in ("FAIL", "Without JavaScript", "Distinct answers", "batch of 16, item 8"):
            self.assertIn(part, text)

    def test_prints_on_white(self):
        self.browser.prefer("dark")
        self.open("diverging")
        before = self.js(PIXEL % (160, 25))
        printed = self.browser.call("Page.printToPDF", printBackground=True)["data"]
        self.assertGreater(len(printed), 10000)
        self.assertEqual(self.js(PIXEL % (160, 25)), before)


def main():
    global folder, screenshots
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--screenshots", type=pathlib.Path)
    parsed, rest = parser.parse_known_args()
    folder, screenshots = parsed.folder, parsed.screenshots
    unittest.main(argv=["html_browser_test.py", *rest])


if __name__ == "__main__":
    main()
