"""The style of a page: light and dark, from the width of a phone to that of a wide screen."""

from __future__ import annotations

STYLE = """
:root { --paper: #fdfdfc; --raised: #f4f4f1; --ink: #1c1e21; --soft: #5b6068; --rule: #d9d9d3; --link: #0b5cad;
  --mark: #0f7b4f; --old: #fbe3df; --old-ink: #8c2413; --new: #d9f2e3; --new-ink: #0b5c3a; --bar: #8fb8de;
  --bar-chosen: #2f9e6b; --warn: #8a5a00; color-scheme: light; }
@media (prefers-color-scheme: dark) { :root { --paper: #16181b; --raised: #1f2226; --ink: #e6e6e3; --soft: #a3a8b0;
  --rule: #363a40; --link: #7db8f5; --mark: #57c795; --old: #4a231d; --old-ink: #ffb9ad; --new: #17402d;
  --new-ink: #9fe8c4; --bar: #3c6690; --bar-chosen: #2f9e6b; --warn: #e2b25b; color-scheme: dark; } }
:root[data-theme=light] { --paper: #fdfdfc; --raised: #f4f4f1; --ink: #1c1e21; --soft: #5b6068; --rule: #d9d9d3;
  --link: #0b5cad; --mark: #0f7b4f; --old: #fbe3df; --old-ink: #8c2413; --new: #d9f2e3; --new-ink: #0b5c3a;
  --bar: #8fb8de; --bar-chosen: #2f9e6b; --warn: #8a5a00; color-scheme: light; }
:root[data-theme=dark] { --paper: #16181b; --raised: #1f2226; --ink: #e6e6e3; --soft: #a3a8b0; --rule: #363a40;
  --link: #7db8f5; --mark: #57c795; --old: #4a231d; --old-ink: #ffb9ad; --new: #17402d; --new-ink: #9fe8c4;
  --bar: #3c6690; --bar-chosen: #2f9e6b; --warn: #e2b25b; color-scheme: dark; }
* { box-sizing: border-box; }
html { scroll-padding-top: 3.5rem; -webkit-text-size-adjust: 100%; }
body { margin: 0; background: var(--paper); color: var(--ink);
  font: 16px/1.55 system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", sans-serif; }
code, pre { font-family: ui-monospace, "SF Mono", "Cascadia Mono", Menlo, Consolas, "DejaVu Sans Mono", monospace;
  font-size: .86em; }
pre { margin: .4rem 0; padding: .7rem .9rem; background: var(--raised); border-radius: 6px; overflow-x: auto;
  line-height: 1.5; }
a { color: var(--link); }
h1 { font-size: 1.7rem; margin: 0 0 .3rem; overflow-wrap: anywhere; }
h2 { font-size: 1.25rem; margin: 2.6rem 0 .6rem; padding-top: .6rem; border-top: 1px solid var(--rule); }
h3 { font-size: 1.02rem; margin: 0 0 .5rem; overflow-wrap: anywhere; }
h4 { font-size: .86rem; margin: 1rem 0 .3rem; color: var(--soft); font-weight: 600; }
p { margin: .4rem 0; max-width: 78ch; }
header, main, footer { max-width: 90rem; margin: 0 auto; padding: 0 1.2rem; }
header { padding-top: 1.6rem; }
footer { padding: 2rem 1.2rem 3rem; color: var(--soft); font-size: .9rem; }
nav { position: sticky; top: 0; z-index: 2; background: var(--paper); border-bottom: 1px solid var(--rule); }
nav > div { max-width: 90rem; margin: 0 auto; padding: .45rem 1.2rem; display: flex; gap: 1.1rem; overflow-x: auto;
  white-space: nowrap; align-items: center; }
nav a { text-decoration: none; font-size: .92rem; }
nav button { margin-left: auto; }
.skip { position: absolute; left: -99rem; }
.skip:focus { left: 1rem; top: .5rem; background: var(--paper); padding: .3rem .6rem; z-index: 3; }
.soft { color: var(--soft); }
.figures { display: flex; flex-wrap: wrap; gap: .6rem 2.2rem; margin: 1rem 0 1.2rem; padding: 0; }
.figures div { display: flex; flex-direction: column-reverse; }
.figures dt { color: var(--soft); font-size: .82rem; }
.figures dd { margin: 0; font-size: 1.25rem; font-variant-numeric: tabular-nums; }
button, select { font: inherit; font-size: .9rem; color: inherit; background: var(--raised);
  border: 1px solid var(--rule); border-radius: 6px; padding: .3rem .7rem; min-height: 2.1rem; cursor: pointer; }
button:disabled { opacity: .45; cursor: default; }
button:hover:not(:disabled) { border-color: var(--soft); }
:focus-visible { outline: 2px solid var(--link); outline-offset: 2px; }
summary { cursor: pointer; padding: .25rem 0; }
.wide { overflow-x: auto; margin: .5rem 0; }
table { border-collapse: collapse; font-size: .92rem; }
th, td { text-align: left; vertical-align: top; padding: .35rem .9rem .35rem 0; border-bottom: 1px solid var(--rule); }
th { color: var(--soft); font-weight: 600; white-space: nowrap; }
table.parts th { white-space: normal; }
table.parts td code { display: block; min-width: 5.5rem; }
table.parts td:nth-child(3) code { min-width: 13rem; }
th button { background: none; border: 0; padding: 0; min-height: 0; font-weight: 600; color: inherit; }
th[aria-sort=ascending] button::after { content: " \\2191"; }
th[aria-sort=descending] button::after { content: " \\2193"; }
td.number { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; }
tr.chosen td { background: color-mix(in srgb, var(--new) 55%, transparent); }
td code { white-space: pre-wrap; overflow-wrap: break-word; }
td .form { overflow-wrap: anywhere; }
table.sortable td:nth-child(2), table.sortable td:nth-child(6) { white-space: nowrap; }
td .form { display: block; min-width: 18rem; }
.bar { display: block; width: 8rem; height: .55rem; margin-top: .35rem; background: var(--raised); border-radius: 3px; }
.bar rect { fill: var(--bar); }
.bar.chosen rect { fill: var(--bar-chosen); }
.badge { display: inline-block; border: 1px solid var(--rule); border-radius: 99px; padding: 0 .6rem; font-size: .8rem;
  margin: 0 .3rem .3rem 0; }
.badge.finite, .badge.rescales, .badge.algebraic { color: var(--warn); }
.badge.ieee, .badge.exact { color: var(--mark); }
.pair { display: grid; grid-template-columns: minmax(0, 1fr); gap: 1.2rem 2rem; margin-bottom: 1.6rem; }
@media (min-width: 64rem) { .pair { grid-template-columns: minmax(0, 5fr) minmax(0, 6fr); } }
.steps { list-style: none; margin: 0; padding: 0; }
.step { border: 1px solid var(--rule); border-radius: 8px; padding: .9rem 1rem; margin-bottom: .8rem; }
.step pre { white-space: pre-wrap; overflow-wrap: anywhere; }
.step .law { font-weight: 600; }
del, ins { text-decoration: none; border-radius: 3px; padding: .05em .1em; -webkit-box-decoration-break: clone;
  box-decoration-break: clone; }
del { background: var(--old); color: var(--old-ink); }
ins { background: var(--new); color: var(--new-ink); }
.kernel > pre { white-space: pre-wrap; overflow-wrap: anywhere; }
.kernel { border-left: 3px solid var(--mark); padding-left: 1rem; min-width: 0; }
.controls { display: flex; flex-wrap: wrap; gap: .5rem; align-items: center; margin: .6rem 0 .9rem; }
.controls select { max-width: 100%; flex: 0 1 18rem; }
.where { color: var(--soft); font-variant-numeric: tabular-nums; }
.controls, nav button, .copy { display: none; }
.live .controls { display: flex; }
.live nav button, .live .copy { display: inline-block; }
.live .stepping [hidden] { display: none; }
.listing { counter-reset: line; padding-left: 0; max-height: 36rem; overflow: auto; }
.line { display: block; counter-increment: line; min-height: 1.5em; padding-right: 1rem; width: max-content;
  min-width: 100%; }
.line::before { content: counter(line); display: inline-block; width: 3.2rem; margin-right: 1rem; text-align: right;
  color: var(--soft); user-select: none; -webkit-user-select: none; }
dl.facts { display: grid; grid-template-columns: max-content minmax(0, 1fr); gap: .15rem 1.2rem; margin: .4rem 0; }
dl.facts dt { color: var(--soft); }
dl.facts dd { margin: 0; overflow-wrap: anywhere; }
@media (max-width: 40rem) { header, main { padding-left: .9rem; padding-right: .9rem; }
  nav > div { padding: .4rem .9rem; }
  dl.facts { grid-template-columns: minmax(0, 1fr); } dl.facts dd { margin-bottom: .4rem; }
  .bar { width: 5rem; } td .form { min-width: 14rem; } }
@media (prefers-reduced-motion: no-preference) { html { scroll-behavior: smooth; } }
@media print { nav, .controls, .copy { display: none !important; } .listing { max-height: none; }
  .stepping [hidden] { display: block !important; } }
"""
