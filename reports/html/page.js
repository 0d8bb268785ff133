// Brings the page to life: pictures when their fixture is opened, the theme.

const pictures = [];

function open(details) {
  const host = details.querySelector(":scope > .picture");
  if (host === null || host.childElementCount > 0) return;
  const cell = new Cell(Number(host.dataset.cell));
  const above = element("div", {});
  const below = element("div", {});
  host.append(above, below);
  const compare = new Compare(below, cell);
  pictures.push(new Picture(above, cell, (row, position) => compare.show(row, position)));
}

function redraw() {
  for (const picture of pictures) picture.draw();
}

const THEMES = ["system", "light", "dark"];
const root = document.documentElement;

function setTheme(theme) {
  if (theme === "system") delete root.dataset.theme;
  else root.dataset.theme = theme;
  redraw();
}

const themeButton = document.getElementById("theme");
themeButton.hidden = false;
themeButton.addEventListener("click", () => {
  const now = THEMES.indexOf(root.dataset.theme ?? "system");
  const theme = THEMES[(now + 1) % THEMES.length];
  setTheme(theme);
  themeButton.textContent = `Theme: ${theme}`;
});
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redraw);

// Paper is white.
let themeOnScreen = "system";
addEventListener("beforeprint", () => {
  themeOnScreen = root.dataset.theme ?? "system";
  setTheme("light");
});
addEventListener("afterprint", () => setTheme(themeOnScreen));

document.addEventListener("toggle", (event) => {
  if (event.target.open) open(event.target);
}, true);
document.querySelectorAll("details[open]").forEach(open);
