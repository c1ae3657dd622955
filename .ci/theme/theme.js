// Light or dark, search, and copying of code. The index of the search is loaded with the first key.
const find = (id) => document.getElementById(id);
const root = document.documentElement;

find("scheme").onclick = () => {
  const scheme = root.style.colorScheme || (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light");
  root.style.colorScheme = scheme === "dark" ? "light" : "dark";
  localStorage.setItem("scheme", root.style.colorScheme);
};

const base = new URL(`${document.body.dataset.base}/`, location.href);
let index;

// Sections that have every word, best first: words in titles, then frequent words. A page is its first section.
function matches(sections, words) {
  const rated = [];
  for (const { location, title, text } of sections.filter((section) => section.location.includes("#"))) {
    const [head, body] = [title.toLowerCase(), text.toLowerCase()];
    let rating = 0;
    for (const word of words) {
      const count = body.split(word, 6).length - 1;
      if (head.includes(word)) rating += 10 + 10 * (head === word);
      else if (!count) rating = Number.NaN;
      rating += count;
    }
    if (rating >= 0) rated.push({ rating, location, title, text });
  }
  return rated.sort((a, b) => b.rating - a.rating).slice(0, 12);
}

function result({ location, title, text }, word) {
  const at = Math.max(text.toLowerCase().indexOf(word) - 40, 0);
  const link = Object.assign(document.createElement("a"), { href: new URL(location, base), textContent: title });
  link.append(Object.assign(document.createElement("small"), { textContent: text.slice(at, at + 120) }));
  const item = document.createElement("li");
  item.append(link);
  return item;
}

find("query").oninput = async ({ target }) => {
  index ??= fetch(new URL("search/search_index.json", base)).then((response) => response.json());
  const { docs } = await index;
  const words = target.value.toLowerCase().split(/\s+/).filter(Boolean);
  const items = words.length ? matches(docs, words).map((match) => result(match, words[0])) : [];
  if (words.length && !items.length) items.push(Object.assign(document.createElement("li"), { textContent: "Nothing found" }));
  find("results").replaceChildren(...items);
  find("results").hidden = !items.length;
};
find("query").onkeydown = ({ key }) => {
  if (key === "Escape") find("results").hidden = true;
  if (key === "Enter") find("results").querySelector("a")?.click();
};
document.addEventListener("click", ({ target }) => {
  if (!target.closest("search")) find("results").hidden = true;
});

const copy = Object.assign(document.createElement("button"), { type: "button", className: "copy", textContent: "Copy" });
copy.onclick = () => navigator.clipboard.writeText(copy.parentElement.querySelector("code").textContent);
document.addEventListener("pointerover", ({ target }) => {
  const block = target.closest(".highlight");
  if (block && copy.parentElement !== block) block.append(copy);
});
