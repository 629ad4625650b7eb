// Links for approvers: the page that one opens, what decides, and what it says when there is nothing to decide any more.
import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import type { TurnwireConfig } from '../../src/config/config.ts'
import { type Message, type Receiver, receive, type Served, secret, serveHooks } from './rig.ts'

const mail = { name: 'mail', input: { to: '<b>bob</b>@example.org', text: 'line one\nline two \u202e' } }

async function asked(
  t: TestContext,
  more: Partial<TurnwireConfig> & { links?: object } = {},
): Promise<{ served: Served; receiver: Receiver; message: Message; url: string; id: string }> {
  const { links = {}, ...config } = more
  const receiver = await receive(t)
  const webhooks = { phone: { url: receiver.url, secret, links: { approver: 'grace', ...links } } }
  const served = await serveHooks(t, [{ calls: [mail] }, { text: 'done' }], webhooks, config)
  const id = await served.say()
  const message = await receiver.next('approval.requested')
  return { served, receiver, message, url: message.data.link!.url, id }
}

const decide = (url: string, form: Record<string, string>, origin?: string) =>
  fetch(url, { method: 'POST', body: new URLSearchParams(form), ...(origin && { headers: { origin } }) })

const textOf = async (answer: Response | Promise<Response>): Promise<[number, string]> => {
  const given = await answer
  return [given.status, await given.text()]
}

test('the page shows what will run, with all arguments and no markup of theirs, and only its form decides', async t => {
  const { url, served, receiver, id } = await asked(t)
  // Programs that look at links before people do: none of it decides.
  for (let look = 0; look < 5; look++) await fetch(url, { method: look % 2 === 0 ? 'GET' : 'HEAD' })
  const page = await fetch(url)
  const html = await page.text()
  assert.equal(page.status, 200)
  const policy = page.headers.get('content-security-policy') ?? ''
  assert.match(
    policy,
    /^default-src 'none'; style-src 'nonce-[\w+/=]+'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'$/,
  )
  assert.equal(page.headers.get('referrer-policy'), 'same-origin')
  assert.equal(page.headers.get('cache-control'), 'no-store')
  for (const part of [
    'Send a mail',
    'grace',
    'helper',
    '&lt;b&gt;bob&lt;/b&gt;@example.org',
    'line one\nline two \\u202e',
  ])
    assert.ok(html.includes(part), `${part} in ${html}`)
  assert.ok(!html.includes('<b>bob') && !/<script|javascript:|http:\/\/|https:\/\//i.test(html))
  assert.deepEqual(served.runs, [])

  const [status, done] = await textOf(decide(url, { decision: 'allow' }, served.url))
  assert.equal(status, 200)
  assert.match(done, /You allowed this call/)
  await receiver.next('turn.ended')
  assert.equal(served.runs.length, 1)
  // Once: again changes nothing, whatever is chosen.
  assert.match(
    (await textOf(decide(url, { decision: 'reject', reason: 'too late' })))[1],
    /You allowed this call/,
  )
  assert.match((await textOf(fetch(url)))[1], /You allowed this call/)
  assert.equal(served.runs.length, 1)
  const log = await (await served.as('root', 'GET', `/operator/sessions/${id}/events`)).text()
  assert.match(log, /"by":"grace"/)
  assert.ok(served.logs.every(line => !line.includes(new URL(url).pathname.slice(9, 60))))
})

test('a rejection reaches the model with its reason', async t => {
  const { url, served, receiver, id } = await asked(t)
  // Another site cannot press the button for a person.
  const [refused] = await textOf(decide(url, { decision: 'allow' }, 'https://evil.example'))
  assert.equal(refused, 403)
  assert.match((await textOf(decide(url, { decision: 'perhaps' })))[1], /Choose one of the two buttons/)
  assert.match(
    (await textOf(decide(url, { decision: 'reject', reason: 'Not <today>' })))[1],
    /You rejected this call[\s\S]*Not &lt;today&gt;/,
  )
  await receiver.next('turn.ended')
  assert.deepEqual(served.runs, [])
  assert.match(
    await (await served.as('root', 'GET', `/operator/sessions/${id}/events`)).text(),
    /Not <today>/,
  )
})

test('of two who decide at once one decides, and the other is told', async t => {
  const { url, served } = await asked(t)
  const answers = await Promise.all([decide(url, { decision: 'allow' }), decide(url, { decision: 'reject' })])
  const pages = await Promise.all(answers.map(answer => answer.text()))
  const [, decided] = /You (allowed|rejected) this call/.exec(pages[0]!) ?? []
  assert.ok(decided)
  assert.ok(pages.every(page => page.includes(`You ${decided} this call`)))
  assert.ok(served.runs.length <= 1)
})

test('it says who decided elsewhere, that it has expired, was revoked, or that nothing waits', async t => {
  const first = await asked(t)
  const respond = { do: 'decide', callId: first.message.data['call'], granted: true }
  await first.served.as('ada', 'POST', `/operator/sessions/${first.id}/commands`, respond)
  assert.match(
    (await textOf(decide(first.url, { decision: 'reject' })))[1],
    /ada allowed this call[\s\S]*decided elsewhere/,
  )

  const late = await asked(t, { links: { forMs: 1 } })
  assert.deepEqual((await textOf(fetch(late.url)))[0], 410)
  assert.match((await textOf(decide(late.url, { decision: 'allow' })))[1], /This link has expired/)
  assert.deepEqual(late.served.runs, [])

  const { served, url, id, message } = await asked(t)
  const cut = (who: 'ada' | 'root', link: string) =>
    served.as(who, 'DELETE', `/operator/sessions/${id}/links/${link}`)
  assert.equal((await cut('ada', message.data.link!.id)).status, 403)
  assert.equal((await cut('root', message.data.link!.id)).status, 204)
  assert.match((await textOf(decide(url, { decision: 'allow' })))[1], /This link was revoked/)
  const path = `/operator/sessions/${id}/calls/${String(message.data['call'])}/links`
  assert.equal((await served.as('ada', 'POST', path, { approver: 'hopper' })).status, 403)
  const made = await served.as('root', 'POST', path, { approver: 'hopper', forMs: 60_000 })
  const link = (await made.json()) as { url: string; approver: string }
  assert.equal(made.status, 201)
  assert.match((await textOf(fetch(link.url)))[1], /hopper/)
  await served.as('ada', 'POST', `/operator/sessions/${id}/commands`, { do: 'cancel' })
  assert.match((await textOf(decide(link.url, { decision: 'allow' })))[1], /Nothing waits here any more/)
  assert.equal((await served.as('root', 'POST', path, { approver: 'hopper' })).status, 404)
  await served.as('root', 'DELETE', `/operator/sessions/${id}`)
  assert.equal((await textOf(fetch(link.url)))[0], 410)
})

test('a link is for the arguments that were shown: other arguments need another one', async t => {
  const rule = { tool: 'mail', then: 'ask' as const, approvers: { quorum: 2 } }
  const { url, served, id, message } = await asked(t, { policy: { rules: [rule] } })
  const call = message.data['call']
  const edit = { do: 'decide', callId: call, granted: true, edit: { to: 'eve@example.org', text: 'x' } }
  const changed = await served.as('ada', 'POST', `/operator/sessions/${id}/commands`, edit)
  assert.equal(changed.status, 200, await changed.text())
  const [status, page] = await textOf(fetch(url))
  assert.equal(status, 409)
  assert.match(page, /The call has changed/)
  assert.match((await textOf(decide(url, { decision: 'allow' })))[1], /The call has changed/)
  assert.deepEqual(served.runs, [])
  const path = `/operator/sessions/${id}/calls/${String(call)}/links`
  const made = await served.as('root', 'POST', path, { approver: 'grace' })
  const { url: fresh } = (await made.json()) as { url: string }
  assert.match((await textOf(fetch(fresh)))[1], /eve@example\.org/)
})

test('a token that was not made here opens nothing', async t => {
  const { url, served } = await asked(t)
  const [body = '', signature = ''] = new URL(url).pathname.split('/')[2]!.split('.')
  const facts = JSON.parse(Buffer.from(body, 'base64url').toString()) as unknown[]
  facts[5] = 'mallory'
  const forged = Buffer.from(JSON.stringify(facts)).toString('base64url')
  for (const token of [
    `${forged}.${signature}`,
    `${body}.x`,
    'x',
    `${body}.${signature}x`,
    'a'.repeat(5000),
  ]) {
    const [status, page] = await textOf(decide(`${served.url}/approve/${token}`, { decision: 'allow' }))
    assert.equal(status, 401, page)
    assert.match(page, /This link is not valid/)
  }
  assert.deepEqual(served.runs, [])
})

test('the approvers of the rule hold for links: roles, and several people', async t => {
  const rule = { tool: 'mail', then: 'ask' as const, approvers: { roles: ['finance'], quorum: 2 } }
  const policy = { rules: [rule] }
  const stranger = await asked(t, { policy })
  const [status, page] = await textOf(decide(stranger.url, { decision: 'allow' }))
  assert.equal(status, 403)
  assert.match(page, /You may not decide this[\s\S]*grace has no role/)

  const { url, served, receiver, id, message } = await asked(t, { policy, links: { roles: ['finance'] } })
  assert.match((await textOf(fetch(url)))[1], /It needs 2 people with the role &quot;finance&quot;/)
  assert.match((await textOf(decide(url, { decision: 'allow' })))[1], /One more person has to allow it/)
  assert.match((await textOf(decide(url, { decision: 'allow' })))[1], /One more person has to allow it/)
  assert.deepEqual(served.runs, [])
  const path = `/operator/sessions/${id}/calls/${String(message.data['call'])}/links`
  const made = await served.as('root', 'POST', path, { approver: 'hopper', roles: ['finance'] })
  assert.equal(made.status, 201)
  const { url: other } = (await made.json()) as { url: string }
  assert.match((await textOf(decide(other, { decision: 'allow' })))[1], /You allowed this call/)
  await receiver.next('turn.ended')
  assert.equal(served.runs.length, 1)
  // Whose yes was not the last one is not told that others decided without it.
  const used = (await textOf(decide(url, { decision: 'allow' })))[1]
  assert.match(used, /hopper allowed this call[\s\S]*You had allowed it before/)
  assert.doesNotMatch(used, /before this link was used/)
})
