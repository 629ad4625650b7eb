// Pages that a person opens by an address: HTML without a script. Texts may be someone else's: they are escaped, and characters
// that hide or reorder text are made visible.
import { randomBytes } from 'node:crypto'
import type { Context } from 'hono'
import type { ContentfulStatusCode } from 'hono/utils/http-status'
import { printable } from '../../lib/text/index.ts'
import type { WireEnv } from '../host.ts'

/** `make` is given the nonce of the style. */
export async function sendPage(
  c: Context<WireEnv>,
  make: (nonce: string) => Promise<{ status: ContentfulStatusCode; html: string }>,
): Promise<Response> {
  const nonce = randomBytes(16).toString('base64')
  const { status, html: body } = await make(nonce)
  return c.html(body, status, {
    'Content-Security-Policy': `default-src 'none'; style-src 'nonce-${nonce}'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'`,
    // Not `no-referrer`: browsers send the forms of such a page with the origin `null`, which the server refuses.
    'Referrer-Policy': 'same-origin',
    'X-Content-Type-Options': 'nosniff',
    'X-Robots-Tag': 'noindex',
    'Cache-Control': 'no-store',
  })
}

export function html(text: string, maxChars = 2_000): string {
  return markup(printable(text, maxChars))
}

const entities: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
}

export function markup(text: string): string {
  return text.replace(/[&<>"']/g, char => entities[char]!)
}

/** `head`: further elements of the head. */
export function frame(nonce: string, title: string, body: string, head = ''): string {
  return `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="robots" content="noindex">
<title>${html(title)}</title>
${head}<style nonce="${nonce}">${style}</style>
<main>${body}</main>
</html>
`
}

const style = `:root{color-scheme:light dark;--line:#d0d4da;--soft:#f4f5f7;--text:#15181d;--dim:#5b6470;--page:#fff;--go:#0b6b3a;--stop:#a4262c;--doubt:#8a4b00}
@media (prefers-color-scheme:dark){:root{--line:#3a414b;--soft:#1f242b;--text:#eceff3;--dim:#a3adb9;--page:#14171b;--go:#2f9e63;--stop:#e5686d;--doubt:#f0b45b}}
*{box-sizing:border-box}
body{margin:0;background:var(--page);color:var(--text);font:16px/1.5 system-ui,sans-serif}
main{max-width:40rem;margin:0 auto;padding:1rem 1rem 3rem}
h1{font-size:1.4rem;line-height:1.25;margin:.25rem 0 .75rem;overflow-wrap:anywhere}
h2{font-size:.8rem;text-transform:uppercase;letter-spacing:.05em;color:var(--dim);margin:1.25rem 0 .35rem}
p,dd,ul{margin:.25rem 0}
.who,.small{color:var(--dim);font-size:.9rem}
pre{margin:.15rem 0;padding:.6rem .7rem;background:var(--soft);border:1px solid var(--line);border-radius:.4rem;white-space:pre-wrap;overflow-wrap:anywhere;font:.9rem/1.45 ui-monospace,monospace}
code{font-family:ui-monospace,monospace;overflow-wrap:anywhere}
dt{font-weight:600;margin-top:.6rem;overflow-wrap:anywhere}
dd{margin-left:0}
ul{padding-left:1.1rem}
.doubt{color:var(--doubt)}
.note{border:1px solid var(--stop);border-radius:.4rem;padding:.5rem .7rem}
.wide{overflow-x:auto}
table{border-collapse:collapse;font-size:.9rem}
th,td{border:1px solid var(--line);padding:.25rem .5rem;text-align:left}
@media (max-width:30rem){table,tbody,tr,td{display:block}th{display:none}tr{margin-bottom:.5rem}td{overflow-wrap:anywhere}td+td{border-top:0}td::before{content:attr(data-column);display:block;color:var(--dim);font-size:.8rem}}
form{display:grid;gap:.6rem;margin:1.5rem 0 .75rem}
label{margin-top:.75rem;font-size:.9rem;color:var(--dim)}
input,button{font:inherit;border-radius:.5rem;min-height:3rem;padding:0 .9rem;width:100%}
input{border:1px solid var(--line);background:var(--page);color:var(--text)}
button{border:0;color:#fff;font-weight:600;cursor:pointer}
.allow,.go{background:#0b6b3a}
.go{display:inline-flex;align-items:center;min-height:3rem;padding:0 .9rem;border-radius:.5rem;color:#fff;font-weight:600;text-decoration:none}
.reject{background:transparent;border:2px solid var(--stop);color:var(--stop)}
:focus-visible{outline:3px solid #4c8dff;outline-offset:2px}`
