// The program of a sealed file, as text: it checks the log with the browser's own Web Crypto, then shows it. It shares no code with the
// checks of the command, so that one finds the mistakes of the other. All content is written as text, never as HTML.

export const sealedScript = String.raw`
const sealed = JSON.parse(document.getElementById('sealed').textContent)
const utf8 = new TextEncoder()
const toText = bytes => btoa(String.fromCharCode(...new Uint8Array(bytes))).replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', '')
const toBytes = text => Uint8Array.from(atob(text.replaceAll('-', '+').replaceAll('_', '/')), c => c.charCodeAt(0))
const sha256 = async data => toText(await crypto.subtle.digest('SHA-256', typeof data === 'string' ? utf8.encode(data) : data))
// RFC 8785.
const canonical = value => {
  if (Array.isArray(value)) return '[' + value.map(canonical).join(',') + ']'
  if (value === null || typeof value !== 'object') return JSON.stringify(value)
  return '{' + Object.keys(value).sort().map(key => JSON.stringify(key) + ':' + canonical(value[key])).join(',') + '}'
}
const isSigned = async (session, { signature, ...signed }) => {
  const key = await crypto.subtle.importKey('jwk', { kty: 'OKP', crv: 'Ed25519', x: signed.key }, 'Ed25519', false, ['verify'])
  const text = 'turnwire log 1\n' + canonical({ session, signed })
  return crypto.subtle.verify('Ed25519', key, toBytes(signature), utf8.encode(text))
}
// The check value of RFC 8037. Older browsers have no Ed25519, and pages from http: no Web Crypto at all.
const canCheck = async () => {
  try {
    await crypto.subtle.importKey('jwk', { kty: 'OKP', crv: 'Ed25519', x: '11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo' }, 'Ed25519', false, ['verify'])
    return true
  } catch {
    return false
  }
}
const keyName = x => sha256('{"crv":"Ed25519","kty":"OKP","x":' + JSON.stringify(x) + '}')

async function checkLog() {
  const digests = []
  const signatures = []
  let [signedTo, head, last] = [0, '', undefined]
  for (const [index, item] of sealed.log.entries()) {
    const seq = index + 1
    if (item.seq !== seq) return { broken: seq, why: 'Event ' + seq + ' is missing.' }
    if (!['event,salt,seq', 'digest,seq'].includes(Object.keys(item).sort().join()))
      return { broken: seq, why: 'Event ' + seq + ' has members that it cannot have.' }
    digests.push('digest' in item ? item.digest : await sha256(item.salt + canonical(item.event)))
    const signed = item.event
    if (signed?.type !== 'log.signed') continue
    if (signed.from !== signedTo + 1 || signed.previous !== head || signed.seq !== seq || signed.to >= seq)
      return { broken: seq, why: 'The signature at event ' + seq + ' does not follow the one before it.' }
    const made = await sha256(head + '\n' + digests.slice(signedTo, signed.to).join('\n'))
    if (made !== signed.head)
      return { broken: signed.from, why: 'One of the events ' + signed.from + ' to ' + signed.to + ' is not as it was recorded.' }
    if (!(await isSigned(sealed.session, signed))) return { broken: seq, why: 'The signature at event ' + seq + ' is wrong.' }
    signedTo = signed.to
    head = signed.head
    last = signed
    signatures.push(signed)
  }
  // Behind the last signed event: signatures, which stand for themselves, and places of events that are not shown.
  const forged = sealed.log.slice(signedTo).find(({ event, salt, digest }) => (event ? event.type !== 'log.signed' || salt !== '' : digest !== ''))
  if (forged) return { broken: forged.seq, why: 'Event ' + forged.seq + ' is not signed, and nothing else may be shown here.' }
  if (sealed.events !== sealed.log.length) return { broken: sealed.log.length + 1, why: 'Events at the end are missing.' }
  return { signedTo, last, signatures }
}

/** All calls of the signatures, in their order, each once. Gives the place of the first receipt that is not the due one. */
async function checkReceipts(signatures) {
  let at = 0
  for (const signed of signatures)
    for (let index = 0; index < signed.calls.count; index += 1, at += 1) {
      const receipt = sealed.receipts[at]
      if (!receipt || receipt.proof.index !== index || canonical(receipt.signed) !== canonical(signed) || !(await isProved(receipt))) return at
    }
  return at < sealed.receipts.length ? at : undefined
}

async function isProved({ call, proof, signed }) {
  let hash = await sha256(new Uint8Array([0, ...utf8.encode(canonical(call))]))
  let [at, end] = [proof.index, signed.calls.count - 1]
  const join = (left, right) => sha256(new Uint8Array([1, ...toBytes(left), ...toBytes(right)]))
  for (const sibling of proof.path) {
    if (end === 0) return false
    if (at % 2 === 1 || at === end) {
      hash = await join(sibling, hash)
      while (at % 2 === 0 && at !== 0) [at, end] = [at >> 1, end >> 1]
    } else hash = await join(hash, sibling)
    ;[at, end] = [at >> 1, end >> 1]
  }
  return end === 0 && hash === signed.calls.root && call.session === sealed.session && (await isSigned(call.session, signed))
}

const shield = isGood => {
  const drawn = document.createElementNS('http://www.w3.org/2000/svg', 'svg')
  const path = document.createElementNS('http://www.w3.org/2000/svg', 'path')
  drawn.setAttribute('viewBox', '0 0 16 16')
  drawn.setAttribute('aria-hidden', 'true')
  path.setAttribute('d', 'M8 2 3 4v4c0 3 2 5 5 6 3-1 5-3 5-6V4z' + (isGood ? 'M5.8 8 7.4 9.6 10.4 6.4' : 'M6.2 6.2 9.8 9.8M9.8 6.2 6.2 9.8'))
  drawn.append(path)
  return drawn
}

// ---- what is shown -----------------------------------------------------------------------------------------

const el = (tag, kind, ...children) => {
  const made = document.createElement(tag)
  if (kind) made.className = kind
  made.append(...children.filter(child => child !== undefined && child !== ''))
  return made
}
const time = at => new Date(at).toISOString().replace('T', ' ').replace('Z', ' UTC')
const clock = at => new Date(at).toISOString().slice(11, 23)
const partsText = parts => parts.map(part => part.text ?? '[' + part.type + ']').join('\n')
const pretty = text => {
  try {
    return JSON.stringify(JSON.parse(text), null, 2)
  } catch {
    return text
  }
}
const verdicts = { allowed: 'allowed by policy', denied: 'denied by policy', approved: 'approved', refused: 'refused', handed: 'run by the application', none: 'not decided' }
const said = ({ verdict, by, votes, rule, policy, editedBy }) =>
  verdicts[verdict] + (by ? (verdict === 'allowed' ? ', by a grant of ' : ' by ') + by : '') + (votes ? ', after ' + votes.map(vote => vote.by).join(', ') : '') + (rule ? ', rule ' + rule : '') + (policy ? ' of ' + policy : '') + (editedBy ? ', changed by ' + editedBy : '')
const calls = new Map()

function block(kind, who, at, ...content) {
  return el('article', 'block ' + kind, el('header', '', el('b', '', who), el('time', '', clock(at))), ...content)
}
const pre = text => el('pre', '', text)

function show({ seq, event, digest }, receipts) {
  if (digest === '') return undefined
  if (digest !== undefined) return el('p', 'removed', 'Event ' + seq + ' was left out. Its digest stays: ', el('code', '', digest.slice(0, 12) + '…'))
  switch (event.type) {
    case 'session.created':
      return el('p', 'note', 'Session with the agent ', el('b', '', event.agent), ' for ', el('b', '', event.owner), ', ' + time(event.at))
    case 'turn.started':
      return block('user', 'User', event.at, el('p', 'said', partsText(event.parts) || '(no text)'))
    case 'message.delivered':
      return event.parts && block('user', 'User', event.at, el('p', 'said', partsText(event.parts)))
    case 'model.answered':
      return el('div', '', ...event.parts.flatMap(part => {
        if (part.type === 'text') return block('model', event.model, event.at, el('p', 'said', part.text))
        if (part.type === 'thinking') return part.text ? block('thinking', 'Thinking', event.at, el('p', 'said', part.text)) : []
        if (part.type === 'call') return showCall(part, event.at, receipts)
        return []
      }))
    case 'call.nested':
      return showCall(event.call, event.at, receipts)
    case 'call.settled': {
      const call = calls.get(event.callId)
      const outcome = el('span', 'outcome ' + event.outcome.kind, event.outcome.kind)
      const result = el('div', 'result', pre(partsText(event.outcome.parts) || '(no text)'))
      const place = call ?? block('call', 'Result', event.at)
      place.querySelector('header time').before(outcome)
      place.append(result)
      return call ? undefined : place
    }
    case 'approval.requested':
      return el('p', 'note', 'Asked a person' + (event.reason ? ': ' + event.reason : '') + ' (rule ' + event.rule + ')')
    case 'approval.decided':
      return el('p', 'note decided', el('b', '', event.by), event.granted ? ' allowed it' : ' refused it', event.reason ? ': ' + event.reason : '', ', ' + time(event.at))
    case 'call.edited':
      return el('p', 'note decided', el('b', '', event.by), ' changed the arguments', pre(pretty(event.text)))
    case 'turn.ended':
      return el('p', 'note', 'The turn ended: ' + event.stop + (event.error ? ', ' + event.error.message : ''))
    case 'log.signed':
    case 'call.started':
    case 'call.allowed':
      return undefined
    default:
      return el('p', 'note', event.type)
  }
}

function showCall(part, at, receipts) {
  const receipt = receipts.get(part.id)
  const made = block('call', part.name, at, pre(pretty(part.text)))
  if (receipt) made.append(el('p', 'who', said(receipt.call.decision)))
  calls.set(part.id, made)
  return made
}

function timeline() {
  const shown = sealed.log.filter(({ event }) => event)
  const first = shown[0]?.event.at ?? 0
  const list = el('ol', 'timeline')
  for (const { seq, event } of shown) {
    const at = el('time', '', event.at === first ? clock(first) : '+' + ((event.at - first) / 1000).toFixed(3) + ' s')
    at.title = time(event.at)
    list.append(el('li', event.type.split('.')[0], el('span', 'seq', String(seq)), el('span', '', event.type), at))
  }
  return list
}

function decisions(proved) {
  const body = el('tbody', '')
  for (const [index, { call }] of sealed.receipts.entries())
    body.append(el('tr', '', el('td', '', el('b', '', call.tool)), el('td', '', said(call.decision)), el('td', '', el('span', 'outcome ' + call.outcome.kind, call.outcome.kind)), el('td', 'when', time(call.at.settled)), el('td', '', index < proved ? 'proved' : el('b', 'bad', 'not proved'))))
  const head = el('tr', '', ...['Tool', 'Decision', 'Outcome', 'Settled', 'Receipt'].map(name => el('th', '', name)))
  return sealed.receipts.length === 0 ? el('p', 'note', 'No call was settled.') : el('div', 'scroll', el('table', '', el('thead', '', head), body))
}

async function main() {
  const badge = document.getElementById('badge')
  const facts = document.getElementById('facts')
  const fact = (name, value) => facts.append(el('div', '', el('dt', '', name), el('dd', '', value)))
  let result
  // How many of the receipts are those of the log.
  let proved = 0
  const isAble = await canCheck()
  try {
    result = isAble ? await checkLog() : { why: 'This browser cannot check signatures (Ed25519). Open the file in another one, or use: turnwire verify <file>' }
    const wrong = result.why ? 0 : await checkReceipts(result.signatures)
    proved = wrong ?? sealed.receipts.length
    if (wrong !== undefined && !result.why)
      result = { broken: 0, why: 'Receipt ' + (wrong + 1) + ' is wrong, or missing.' }
  } catch (error) {
    result = { broken: 0, why: 'It cannot be read: ' + error.message }
  }
  if (!result.why && !result.last) result = { broken: 0, why: 'Nothing in it is signed.' }
  badge.className = 'badge ' + (result.why ? 'bad' : 'good')
  badge.replaceChildren(shield(!result.why), el('strong', '', result.why ? (isAble ? 'Changed' : 'Not checked') : 'Unchanged'), el('span', '', result.why ?? 'Every event that is shown is as the server recorded and signed it.'))
  document.documentElement.dataset.verified = result.why ? 'no' : 'yes'
  const removed = sealed.log.filter(({ digest }) => digest).length
  fact('Session', sealed.session)
  fact('Events', sealed.events + (removed ? ', of which ' + removed + ' left out' : ''))
  if (result.last) {
    fact('Signed', time(result.last.at))
    const readBack = result.signatures.reduce((sum, { from, to, readBack = 0 }) => sum + Math.max(0, Math.min(readBack, to) - from + 1), 0)
    if (readBack) fact('Read back from the store, then signed', readBack + ' events: a change before that does not show')
    for (const key of new Set(result.signatures.map(({ key }) => key))) fact('Key', el('code', '', await keyName(key)))
  }
  const receipts = new Map(sealed.receipts.slice(0, proved).map(receipt => [receipt.call.call, receipt]))
  document.getElementById('decisions').append(decisions(proved))
  const log = document.getElementById('log')
  for (const item of sealed.log) {
    const shown = show(item, receipts)
    if (shown) log.append(shown)
  }
  document.getElementById('timeline').append(timeline())
}
main()
`
