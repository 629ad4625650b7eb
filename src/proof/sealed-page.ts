// The page of a sealed file: its frame and its look. The file loads nothing: its policy allows no address, and only this style and this
// program.
import { hash } from 'node:crypto'
import { embed, readSealed, type Sealed, sealedStart } from './sealed-form.ts'
import { sealedScript } from './sealed-script.ts'

const style = `
:root { color-scheme: light dark; --ink: #1b1f24; --dim: #5b6570; --line: #dfe3e8; --page: #f6f7f9; --card: #fff; --good: #16794c; --good-page: #e6f5ee; --bad: #b3261e; --bad-page: #fcebea; --user: #2457c5; --call: #7a4bc2; }
@media (prefers-color-scheme: dark) { :root { --ink: #e7eaee; --dim: #99a3ae; --line: #2d343c; --page: #111418; --card: #191d22; --good: #5fd0a0; --good-page: #12291f; --bad: #ff8a80; --bad-page: #351a19; --user: #8ab0ff; --call: #c6a5ff; } }
* { box-sizing: border-box; }
body { margin: 0; background: var(--page); color: var(--ink); font: 15px/1.5 system-ui, sans-serif; }
main { max-width: 68rem; margin: 0 auto; padding: 2rem 1.25rem 4rem; }
h1 { font-size: 1.5rem; margin: 0 0 1rem; } h2 { font-size: 1.05rem; margin: 2.25rem 0 .75rem; }
.badge { display: flex; flex-wrap: wrap; gap: .25rem .75rem; align-items: baseline; padding: .9rem 1.1rem; border-radius: .6rem; border: 1px solid var(--line); background: var(--card); }
.badge strong { font-size: 1.1rem; } .badge.good { background: var(--good-page); border-color: var(--good); } .badge.good strong { color: var(--good); }
.badge.bad { background: var(--bad-page); border-color: var(--bad); } .badge.bad strong, .bad { color: var(--bad); }
dl { display: grid; grid-template-columns: repeat(auto-fit, minmax(14rem, 1fr)); gap: .75rem 1.5rem; margin: 1.25rem 0 0; } dl div { min-width: 0; }
dt { color: var(--dim); font-size: .8rem; } dd { margin: 0; overflow-wrap: anywhere; }
code, pre, .seq { font-family: ui-monospace, monospace; font-size: .82rem; }
.scroll { overflow-x: auto; border: 1px solid var(--line); border-radius: .6rem; background: var(--card); }
table { border-collapse: collapse; width: 100%; min-width: 40rem; } th, td { text-align: left; padding: .55rem .9rem; border-bottom: 1px solid var(--line); vertical-align: top; } tr:last-child td { border-bottom: 0; }
th { font-size: .8rem; color: var(--dim); font-weight: 500; } .when { white-space: nowrap; color: var(--dim); }
.columns { display: grid; grid-template-columns: minmax(0, 1fr) 19rem; gap: 2rem; align-items: start; }
.block { border: 1px solid var(--line); border-left: 3px solid var(--line); border-radius: .6rem; background: var(--card); padding: .75rem 1rem; margin: 0 0 .75rem; }
.block.user { border-left-color: var(--user); } .block.call { border-left-color: var(--call); } .block.thinking { opacity: .8; }
.block header { display: flex; justify-content: space-between; gap: 1rem; font-size: .85rem; } .block header time, .timeline time { color: var(--dim); font-variant-numeric: tabular-nums; }
.said { white-space: pre-wrap; overflow-wrap: anywhere; margin: .35rem 0 0; }
pre { margin: .5rem 0 0; padding: .6rem .75rem; border-radius: .4rem; background: var(--page); white-space: pre-wrap; overflow-wrap: anywhere; max-height: 24rem; overflow: auto; }
.result { margin-top: .75rem; } .outcome { font-size: .78rem; border: 1px solid currentColor; border-radius: 1rem; padding: .05rem .55rem; color: var(--bad); } .ok > .outcome, .outcome.ok { color: var(--good); }
.who, .note { color: var(--dim); font-size: .88rem; margin: .5rem 0; } .decided { color: var(--ink); } .removed { border: 1px dashed var(--line); border-radius: .6rem; padding: .6rem 1rem; color: var(--dim); font-size: .88rem; margin: 0 0 .75rem; }
.timeline { list-style: none; margin: 0; padding: 0; font-size: .82rem; } .timeline li { display: grid; grid-template-columns: 2.2rem 6.5rem 1fr; gap: .4rem; padding: .3rem .5rem; border-left: 2px solid var(--line); background: linear-gradient(var(--line), var(--line)) calc(var(--at) * 100%) 100% / 1.5rem 2px no-repeat; }
.timeline li.call, .timeline li.approval { border-left-color: var(--call); } .timeline li.turn { border-left-color: var(--user); } .timeline li.log { border-left-color: var(--good); } .seq { color: var(--dim); }
footer { margin-top: 3rem; color: var(--dim); font-size: .85rem; border-top: 1px solid var(--line); padding-top: 1rem; }
@media (max-width: 50rem) { main { padding: 1.25rem .9rem 3rem; } .columns { grid-template-columns: minmax(0, 1fr); } }
`

const sourceHash = (text: string): string => `'sha256-${hash('sha256', text, 'base64')}'`

export function sealedPage(sealed: Sealed): string {
  const policy = `default-src 'none'; script-src ${sourceHash(sealedScript)}; style-src ${sourceHash(style)}; img-src data:; base-uri 'none'; form-action 'none'`
  return `${sealedStart}<meta http-equiv="Content-Security-Policy" content="${policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="referrer" content="no-referrer">
<title>Sealed session</title>
<style>${style}</style>
</head>
<body>
<main>
<h1>Sealed session</h1>
<div id="badge" class="badge" role="status"><span>Checking the signatures…</span></div>
<dl id="facts"></dl>
<h2>Who allowed what</h2>
<section id="decisions"></section>
<div class="columns">
<section><h2>Transcript</h2><div id="log"></div></section>
<section><h2>Timeline</h2><div id="timeline"></div></section>
</div>
<footer>This file checks itself and loads nothing. The signature proves that the holder of the key recorded this so. Compare the key above with
the one that the server shows at /.well-known/turnwire-receipts.json: a file that someone changed and signed with another key looks
unchanged too. Check it without trusting this page: turnwire verify &lt;file&gt; --key &lt;key&gt;.</footer>
<noscript>The check needs JavaScript.</noscript>
</main>
${embed(sealed)}
<script>${sealedScript}</script>
</body>
</html>
`
}

/**
 * Hashes of pages around the log as earlier versions made them. When the page changes, its hash as it was released goes here, so that
 * files that were sealed before are still taken for unchanged.
 */
const earlierPages: readonly string[] = []

/** Of a page without its log. Its style, its program and its words are in it. */
export function pageHash(html: string, log: string): string {
  return hash(
    'sha256',
    html.replace(log, () => ''),
    'base64url',
  )
}

/** Whether the page around the log, and the form of the log, are as a program of ours writes them. */
export function isOwnPage(html: string): boolean {
  const sealed = readSealed(html)
  const log = embed(sealed)
  if (html === sealedPage(sealed)) return true
  return html.includes(log) && earlierPages.includes(pageHash(html, log))
}
