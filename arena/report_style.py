"""How the page of a tournament looks: light and dark, wide and on a telephone."""

STYLE = """
:root { color-scheme: light dark; --ink: #1c2024; --soft: #5a636d; --paper: #fbfbfa; --card: #fff; --line: #dfe2e6;
  --up: #1b9e77; --down: #d95f02; --mark: #3457c9; }
@media (prefers-color-scheme: dark) { :root { --ink: #e8eaed; --soft: #a6aeb8; --paper: #15171a; --card: #1d2024;
  --line: #343a41; --up: #35c496; --down: #f08b3e; --mark: #8fa8ff; } }
* { box-sizing: border-box; }
body { margin: 0; background: var(--paper); color: var(--ink); font: 16px/1.5 system-ui, sans-serif; }
main { max-width: 70rem; margin: 0 auto; padding: 1rem; }
h1, h2, p, li, summary, th { overflow-wrap: anywhere; }
h1 { margin: 0; font-size: 1.6rem; }
h2 { margin: 0 0 .6rem; font-size: 1.1rem; }
p { margin: .4rem 0; }
small, .legend, header p { color: var(--soft); }
small { font-size: .85em; }
section { margin: 1rem 0; padding: 1rem; background: var(--card); border: 1px solid var(--line); border-radius: .6rem; }
.board { list-style: none; counter-reset: place; margin: 0; padding: 0; }
.board li { counter-increment: place; display: grid; gap: 0 1rem; align-items: center; padding: .4rem 0;
  grid-template-columns: minmax(0, 14rem) minmax(0, 1fr) 12rem; border-top: 1px solid var(--line); }
.board li:first-child { border-top: 0; }
.name { overflow-wrap: anywhere; font-weight: 600; }
.name::before { content: counter(place) " "; color: var(--soft); font-weight: 400; }
.elo { text-align: right; font-variant-numeric: tabular-nums; }
.facts { grid-column: 1 / -1; color: var(--soft); font-size: .85rem; }
.bar { position: relative; height: 1rem;
  background: linear-gradient(var(--line), var(--line)) center / 100% 1px no-repeat; }
.bar i { position: absolute; top: .3rem; height: .4rem; border-radius: .2rem; background: var(--mark); opacity: .45; }
.bar b { position: absolute; top: .1rem; width: .8rem; height: .8rem; margin-left: -.4rem; border-radius: 50%;
  background: var(--mark); }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; font-size: .85rem; }
td, th { padding: .3rem .5rem; text-align: right; font-weight: 400; }
th[scope=row] { text-align: left; }
th[scope=row] span { display: block; max-width: 14rem; }
thead th { color: var(--soft); overflow-wrap: normal; }
.heat td { min-width: 2.6rem; text-align: center; border: 1px solid var(--card); }
details { border-top: 1px solid var(--line); padding: .5rem 0; }
details:first-of-type { border-top: 0; }
summary { cursor: pointer; font-weight: 600; }
details > :not(summary) { margin-top: .6rem; }
ul { margin: 0; padding-left: 1.2rem; }
.game { border-left: 2px solid var(--line); padding-left: .8rem; margin: .6rem 0; }
.turn { margin: .6rem 0; }
.turn p { margin: 0; white-space: pre-wrap; overflow-wrap: anywhere; }
.heard { color: var(--soft); font-size: .9rem; }
.said { font-family: ui-monospace, monospace; font-size: .9rem; }
.bad { color: var(--down); }
@media (max-width: 700px) {
  main { padding: .5rem; }
  section { padding: .75rem; }
  .board li { grid-template-columns: minmax(0, 1fr) auto; }
  .bar { grid-column: 1 / -1; grid-row: 2; margin: .2rem .4rem; }
  .heat td { min-width: 0; padding: .3rem 0; font-size: .58rem; }
  .heat th { padding: .3rem .1rem; font-size: .62rem; text-align: center; }
  .heat th[scope=row] { text-align: left; }
  .heat th[scope=row] span { width: 3.9rem; }
}
"""
