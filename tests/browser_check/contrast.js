// Texts whose colour is too near to what is painted below them: [text, ratio, selector].
const channel = (v) => { v /= 255; return v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4; };
const parse = (c) => { const n = c.match(/[\d.]+/g).map(Number); return [n[0], n[1], n[2], n.length > 3 ? n[3] : 1]; };
const light = ([r, g, b]) => 0.2126 * channel(r) + 0.7152 * channel(g) + 0.0722 * channel(b);
const over = (top, below) => [0, 1, 2].map((i) => top[i] * top[3] + below[i] * (1 - top[3])).concat(1);
function ground(node) {
  const layers = [];
  for (let n = node; n; n = n.parentElement) layers.unshift(parse(getComputedStyle(n).backgroundColor));
  return layers.reduce((below, top) => over(top, below), [255, 255, 255, 1]);
}
const found = [];
let texts = 0;
const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
while (walker.nextNode()) {
  const node = walker.currentNode.parentElement, text = walker.currentNode.textContent.trim();
  if (!text || !node.checkVisibility() || node.closest("script, style, svg, option, .skip")) continue;
  texts += 1;
  const below = ground(node), a = light(over(parse(getComputedStyle(node).color), below)), b = light(below);
  const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
  if (ratio < 4.5) found.push([text.slice(0, 40), +ratio.toFixed(2), `${node.tagName}.${node.className}`]);
}
return { texts, found };
