// The page of an approval link, as HTML without a script. All texts of a call are someone else's: they are escaped, and characters
// that hide or reorder text are made visible.
import type { SessionCall } from '../../engine/index.ts'
import { type FlowFact, withoutFacts } from '../../language/flow.ts'
import type { FileDiff, Report } from '../../language/report.ts'
import { isJsonObject, type Json, parseJson } from '../../lib/json/index.ts'
import { printable } from '../../lib/text/index.ts'
import { lineDiff } from '../../lib/text/line-diff.ts'
import { frame, html, markup } from '../http/page.ts'
import type { ApprovalView, LinkState } from './view.ts'

/** Longer arguments are cut here: nobody decides about what they cannot read, so the page says so. */
const mostShown = 20_000

export type Page = { status: 200 | 401 | 403 | 409 | 410; html: string }

/** `nonce`: of the style. */
export function linkPage(state: LinkState, nonce: string, note?: string): Page {
  switch (state.state) {
    case 'open':
      return { status: 200, html: frame(nonce, 'Approve?', openPage(state.view, note)) }
    case 'decided':
      return { status: 200, html: frame(nonce, 'Decided', decidedPage(state)) }
    case 'voted':
      return notice(
        nonce,
        200,
        'You allowed this call',
        state.missing === 1
          ? 'One more person has to allow it before it runs. You can close this page.'
          : `${state.missing} more people have to allow it before it runs. You can close this page.`,
      )
    case 'refused':
      return notice(nonce, 403, 'You may not decide this', `${state.why}. Someone else has to decide.`)
    case 'expired':
      return notice(
        nonce,
        410,
        'This link has expired',
        'Nothing was decided with it. If the call still waits, ask for a new link or decide in the console.',
      )
    case 'changed':
      return notice(
        nonce,
        409,
        'The call has changed',
        'The arguments or the tool are not those that this link was sent for, so it cannot be used. Decide in the console, or ask for a new link.',
      )
    case 'revoked':
      return notice(
        nonce,
        410,
        'This link was revoked',
        'Nothing was decided with it. Ask the person who runs this server.',
      )
    case 'gone':
      return notice(
        nonce,
        410,
        'Nothing waits here any more',
        'The call was cancelled, or its conversation went on without it. Nothing was decided with this link.',
      )
  }
}

export function invalidPage(nonce: string, words: string): Page {
  return notice(nonce, 401, 'This link is not valid', words)
}

function notice(nonce: string, status: Page['status'], title: string, words: string): Page {
  return { status, html: frame(nonce, title, `<h1>${html(title)}</h1><p>${html(words)}</p>`) }
}

function openPage(view: ApprovalView, note: string | undefined): string {
  const { call, tool, agent, owner, approver } = view
  const title = tool.title ?? call.part.name
  return `<p class="who">${html(agent)} for ${html(owner)} asks you, <b>${html(approver)}</b></p>
<h1>Run <code>${html(title)}</code>?</h1>
${note === undefined ? '' : `<p class="note" role="alert">${html(note)}</p>`}
${tool.description === undefined ? '' : `<p>${html(tool.description, 500)}</p>`}
<section><h2>Why you are asked</h2><p>${html(whyAsked(call))}</p>${view.needs === undefined ? '' : `<p>It needs ${html(view.needs)}.</p>`}</section>
${preview(call.preview)}
<section><h2>Arguments</h2>${showArguments(call)}</section>
${facts(call.flow ?? [])}
<form method="post">
<button name="decision" value="allow" class="allow">Allow once</button>
<label for="reason">Why not? The model is told.</label>
<input id="reason" name="reason" maxlength="500" autocomplete="off">
<button name="decision" value="reject" class="reject">Reject</button>
</form>
<p class="small">This link works once and until ${time(view.expiresAt)}. It decides about this call with these arguments, and nothing else.</p>`
}

const ownWords = {
  last: 'This link is used up.',
  earlier: 'You had allowed it before. This link is used up.',
}

function decidedPage({ granted, by, at, own, reason }: Extract<LinkState, { state: 'decided' }>): string {
  const who = own === 'last' ? 'You' : by
  const words = own === undefined ? 'It was decided elsewhere before this link was used.' : ownWords[own]
  return `<h1>${html(who)} ${granted ? 'allowed' : 'rejected'} this call</h1>
<p>${time(at)}. ${words} You can close this page.</p>
${reason === undefined ? '' : `<p>Reason: ${html(reason, 1_000)}</p>`}`
}

function showArguments({ text }: SessionCall): string {
  const value = parseJson(text)
  if (!isJsonObject(value)) return pre(text)
  const entries = Object.entries(value)
  if (entries.length === 0) return '<p>None.</p>'
  const rows = entries.map(([name, each]) => `<dt>${html(name, 200)}</dt><dd>${pre(readable(each))}</dd>`)
  return `<dl>${rows.join('')}</dl>`
}

function readable(value: Json): string {
  return typeof value === 'string' ? value : JSON.stringify(value, undefined, 2)
}

function facts(given: readonly FlowFact[]): string {
  if (given.length === 0) return ''
  const rows = given
    .toSorted((one, two) => Number(one.warranted) - Number(two.warranted))
    .map(fact => {
      const named = fact.argument === '' ? '' : `<b>${html(fact.argument, 80)}</b> `
      const value = fact.value === undefined ? '' : `<code>${html(fact.value, 160)}</code> `
      const around = fact.around === undefined ? '' : ` <q>${html(fact.around, 240)}</q>`
      return `<li class="${fact.warranted ? 'fine' : 'doubt'}">${named}${value}${html(fact.why.replaceAll('`', '"'), 300)}${around}</li>`
    })
  return `<section><h2>Where they came from</h2><ul>${rows.join('')}</ul></section>`
}

/** The facts stand below. */
function whyAsked({ reason, flow = [] }: Pick<ApprovalView['call'], 'reason' | 'flow'>): string {
  const isForeign = flow.some(({ warranted }) => !warranted)
  const words =
    withoutFacts(reason, flow) ?? (isForeign ? undefined : 'A rule of this server wants a person to decide.')
  return [words, isForeign && 'Some of its arguments are not from the user.'].filter(Boolean).join(' ')
}

function preview(report: Report | undefined): string {
  if (!report) return ''
  const { diffs = [], rows, locations = [], leftOut } = report
  const parts = [
    ...diffs.map(fileDiff),
    ...(rows
      ? [
          `<div class="wide"><table><tr>${heads(rows.columns)}</tr>${rows.rows.map(row => `<tr>${cells(rows.columns, row)}</tr>`).join('')}</table></div>`,
        ]
      : []),
    ...(locations.length > 0 && diffs.length === 0
      ? [`<ul>${locations.map(({ path }) => `<li><code>${html(path, 300)}</code></li>`).join('')}</ul>`]
      : []),
    ...(leftOut ? [`<p class="doubt">${leftOut} more are not shown here.</p>`] : []),
  ]
  return parts.length === 0 ? '' : `<section><h2>What will happen</h2>${parts.join('')}</section>`
}

function heads(columns: readonly string[]): string {
  return columns.map(column => `<th>${html(column, 500)}</th>`).join('')
}

/** On a phone the cells of a row stand below one another, each with the name of its column. */
function cells(columns: readonly string[], row: readonly string[]): string {
  return row
    .map((text, at) => `<td data-column="${html(columns[at] ?? '', 500)}">${html(text, 500)}</td>`)
    .join('')
}

function fileDiff({ path, oldText, newText }: FileDiff): string {
  const lines = lineDiff(oldText ?? '', newText ?? '').map(line =>
    line.mark === '…' ? '…' : `${line.mark} ${line.text}`,
  )
  const what = oldText === null ? 'new file' : newText === null ? 'deleted' : 'changed'
  return `<p><code>${html(path, 300)}</code> (${what})</p>${pre(lines.join('\n'))}`
}

function pre(text: string): string {
  const cut = text.length > mostShown
  const shown = printable(cut ? text.slice(0, mostShown) : text, { multiline: true })
  const more = cut
    ? `<p class="doubt">${text.length - mostShown} more characters are not shown here. See all of it in the console before you decide.</p>`
    : ''
  return `<pre>${markup(shown)}</pre>${more}`
}

function time(at: number): string {
  const text = new Date(at).toISOString()
  return `<time datetime="${text}">${text.slice(0, 16).replace('T', ' ')} UTC</time>`
}
