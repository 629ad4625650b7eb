// The page of a sealed file: its frame and its look. The file loads nothing: its policy allows no address, and only this style and this
// program.
import { hash } from 'node:crypto'
import { embed, readSealed, type Sealed, sealedStart } from './sealed-form.ts'
import { sealedScript } from './sealed-script.ts'

const style = `
:root { color-scheme: light dark; --ink: light-dark(#1a1c20, #e9eaee); --dim: light-dark(#5a5e68, #a2a6b0); --line: light-dark(#dfe1e6, #2f323a); --page: light-dark(#f6f7f9, #121317); --card: light-dark(#ffffff, #1a1c21); --inset: light-dark(#f6f7f9, #121317); --good: light-dark(#1c7340, #6fcf97); --bad: light-dark(#b3261e, #ff8a80); --doubt: light-dark(#7a3fb0, #cfa3ff); --accent: light-dark(#3451c6, #93a7ff); }
* { box-sizing: border-box; }
body { margin: 0; background: var(--page); color: var(--ink); font: 14px/20px system-ui, -apple-system, "Segoe UI", Roboto, sans-serif; -webkit-font-smoothing: antialiased; }
main { max-width: 1080px; margin: 0 auto; padding: 40px 24px 64px; }
h1 { font-size: 20px; line-height: 28px; font-weight: 600; letter-spacing: -.01em; margin: 0 0 16px; } h2 { font-size: 14px; line-height: 20px; font-weight: 600; margin: 32px 0 8px; }
.badge, .scroll, .block, .timeline { border: 1px solid var(--line); border-radius: 8px; background: var(--card); }
.badge { display: grid; grid-template-columns: auto minmax(0, 1fr); gap: 0 14px; align-items: center; padding: 16px 18px 16px 20px; }
.badge svg { grid-row: span 2; width: 28px; height: 28px; fill: none; stroke: currentColor; stroke-width: 1.5; stroke-linecap: round; stroke-linejoin: round; }
.badge strong { font-size: 16px; line-height: 24px; font-weight: 600; } .badge span { color: var(--dim); }
.badge.good { border-color: color-mix(in srgb, var(--good) 45%, var(--line)); } .badge.good :is(svg, strong) { color: var(--good); }
.badge.bad { border-color: var(--bad); } .badge.bad :is(svg, strong), .bad { color: var(--bad); }
dl { display: grid; grid-template-columns: auto auto auto minmax(0, 1fr); gap: 12px 40px; margin: 20px 0 0; } dl div { min-width: 0; }
dt { color: var(--dim); font-size: 12px; line-height: 16px; } dd { margin: 2px 0 0; overflow-wrap: anywhere; }
code, pre { font-family: ui-monospace, SFMono-Regular, Menlo, Consolas, monospace; font-size: 12px; line-height: 18px; }
.scroll { overflow: hidden; }
table { border-collapse: collapse; width: 100%; font-size: 13px; line-height: 18px; } th, td { text-align: left; padding: 9px 16px; border-bottom: 1px solid var(--line); vertical-align: baseline; overflow-wrap: anywhere; } tr:last-child td { border-bottom: 0; }
th { font-size: 12px; line-height: 16px; color: var(--dim); font-weight: 400; } td > b { font-weight: 600; } .when { white-space: nowrap; color: var(--dim); font-variant-numeric: tabular-nums; }
.columns { display: grid; grid-template-columns: minmax(0, 1fr) 288px; gap: 0 32px; align-items: start; }
.block { margin: 0 0 8px; overflow: hidden; } .block > * { margin-inline: 16px; } .block > :last-child { margin-bottom: 14px; }
.block.model, .block.thinking { border-color: transparent; background: none; } .block:is(.model, .thinking) > * { margin-inline: 0; }
.block.thinking { color: var(--dim); }
.block header { display: flex; gap: 10px; align-items: baseline; margin-top: 10px; font-size: 13px; line-height: 18px; } .block.call header b { font-family: ui-monospace, SFMono-Regular, Menlo, Consolas, monospace; }
.block header b { font-weight: 600; margin-right: auto; } .block header time { color: var(--dim); font-size: 12px; font-variant-numeric: tabular-nums; }
.said { white-space: pre-wrap; overflow-wrap: anywhere; margin-block: 4px 0; }
pre { margin-block: 8px 0; padding: 8px 12px; border-radius: 6px; background: var(--inset); white-space: pre-wrap; overflow-wrap: anywhere; max-height: 384px; overflow: auto; }
.result pre { margin: 0; } .result { margin-block: 8px 0; }
.outcome { display: inline-flex; gap: 5px; align-items: center; font-size: 12px; line-height: 16px; color: var(--bad); white-space: nowrap; } .outcome.ok { color: var(--good); } .outcome.unknown { color: var(--doubt); } .outcome:is(.cancelled, .abandoned) { color: var(--dim); }
.outcome::before { content: ""; width: 6px; height: 6px; border-radius: 50%; background: currentColor; }
.who, .note { color: var(--dim); font-size: 12px; line-height: 16px; margin: 0 0 8px; } .block > .who { margin-block: 8px 0; } .decided { color: var(--ink); }
.removed { border: 1px dashed var(--line); border-radius: 8px; padding: 8px 16px; color: var(--dim); font-size: 12px; margin: 0 0 8px; }
.timeline { list-style: none; margin: 0; padding: 6px 0; font-size: 12px; line-height: 16px; } .timeline li { display: grid; grid-template-columns: 24px minmax(0, 1fr) auto; gap: 10px; padding: 4px 14px; }
.timeline time, .seq { color: var(--dim); font-variant-numeric: tabular-nums; } .seq { text-align: right; } .timeline li.turn { font-weight: 600; } .timeline li.log > :nth-child(2) { color: var(--good); }
footer { margin-top: 40px; color: var(--dim); font-size: 12px; line-height: 18px; border-top: 1px solid var(--line); padding-top: 16px; }
@media (max-width: 760px) {
  main { padding: 20px 16px 48px; } .columns { grid-template-columns: minmax(0, 1fr); } dl { grid-template-columns: minmax(0, 1fr) minmax(0, 1fr); gap: 12px 16px; } dl div:is(:first-child, :last-child) { grid-column: 1 / -1; }
  thead { display: none; } tr { display: grid; grid-template-columns: minmax(0, 1fr) auto; gap: 2px 12px; padding: 10px 14px; border-bottom: 1px solid var(--line); } tr:last-child { border-bottom: 0; } td { border: 0; padding: 0; }
  td:nth-child(2) { grid-column: 1 / -1; grid-row: 2; } td:nth-child(5) { text-align: right; color: var(--dim); } .when { font-size: 12px; }
}
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
