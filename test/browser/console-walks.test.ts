// The twelve things that people come to the console for, each from a page that everybody finds, by visible words alone.
import assert from 'node:assert/strict'
import { describe, type TestContext, test } from 'node:test'
import { begin as beginOn, processes, say } from '../cluster/processes.ts'
import { own } from '../stores/postgres/server.ts'
import { consoleServer, open, said, skip, suite } from './console-rig.ts'
import { seed } from './seeded-store.ts'
import { Walk } from './walk.ts'

const view = { viewport: { width: 1280, height: 800 }, reducedMotion: 'reduce' }

describe('a stranger', { skip }, () => {
  const { browser, rig } = suite()

  async function begin(t: TestContext, url: string): Promise<Walk> {
    const { page, problems } = await open(t, browser(), url, view)
    t.after(() => assert.deepEqual(problems, []))
    return new Walk(page)
  }

  test('sees a tool run on the first visit', async t => {
    const walk = await begin(t, rig().url)
    await walk.see('A model only says which tool it wants')
    await walk.press(/What is the weather in Paris\?/)
    await walk.see(/answered: Paris: 18 °C/)
    await walk.end(t, 'first visit')
  })

  test('tries a tool with arguments of their own', async t => {
    const walk = await begin(t, rig().url)
    await walk.press('Tools')
    await walk.press(/^get_weather/)
    await walk.write(/^city/, 'Oslo')
    await walk.press('Run it through the gate')
    await walk.see('Oslo: 18 °C')
    await walk.end(t, 'try a tool')
  })

  test('allows a call with other arguments', async t => {
    const { url, operator } = rig()
    const id = await said(operator, 'Mail ana@example.org that I am late')
    const walk = await begin(t, url)
    await walk.press(/^Approvals/)
    await walk.see('Send mail: to “ana@example.org”, body “I am late”')
    await walk.press('Edit…')
    await walk.write(/^to/, 'bob@example.org')
    await walk.press('Allow with these arguments')
    await walk.press('Send now')
    await walk.press('See what came of it')
    await walk.see(/Sent to bob@example\.org/)
    await walk.end(t, 'approve with an edit')
    const { events } = await operator.events(id)
    assert.ok(events.some(({ event }) => event.type === 'call.edited' && event.text.includes('bob@')))
  })

  test('refuses a call and tells the model why', async t => {
    const { url, operator } = rig()
    await said(operator, 'Mail cleo@example.org that I am late')
    const walk = await begin(t, url)
    await walk.press(/^Approvals/)
    await walk.press(/cleo@example\.org/)
    await walk.press('Reject…')
    await walk.write('Why not?', 'Not before noon')
    await walk.press('Reject')
    await walk.press('Send now')
    await walk.press('See what came of it')
    await walk.see(/It never ran: .* refused it/)
    await walk.see(/Not before noon/)
    await walk.end(t, 'reject with a reason')
  })

  test('follows a session that is at work', async t => {
    const { url, operator } = rig()
    const walk = await begin(t, url)
    await walk.press('Sessions')
    await walk.see('Status')
    const { id } = await operator.create({ agent: 'sleeper' })
    await operator.command(id, { do: 'say', text: 'Watch over the night' })
    await walk.press(/Watch over the night/)
    await walk.see('running')
    await walk.press('Stop this call')
    await walk.see('awake')
    await walk.see('Done')
    await walk.end(t, 'follow a live session')
  })

  test('compares a step on five vendors', async t => {
    const { url, operator } = rig()
    await said(operator, 'What is the weather in Lima?')
    const walk = await begin(t, url)
    await walk.press('Sessions')
    await walk.press(/What is the weather in Lima\?/)
    await walk.press('As vendors see it')
    const vendors = ['OpenAI Responses', 'Chat Completions', 'Gemini generateContent', 'Gemini Interactions']
    for (const vendor of [...vendors, 'Anthropic Messages']) {
      await walk.press(vendor)
      await walk.see(`finds nothing that ${vendor} would reject`)
    }
    await walk.end(t, 'compare on five vendors')
  })

  test('forks a session, and nothing runs again', async t => {
    const { url, operator } = rig()
    const id = await said(operator, 'What is the weather in Cairo?')
    const walk = await begin(t, url)
    await walk.press('Sessions')
    await walk.press(/What is the weather in Cairo\?/)
    await walk.press('Fork…')
    await walk.write(/Message to say at once/, 'What is the weather in Rome?')
    await walk.press('Fork')
    await walk.see(/answered: Rome: 18 °C/)
    await walk.end(t, 'fork')
    const { sessions } = await operator.sessions({ q: 'Cairo' })
    const fork = sessions.find(({ forkedFrom }) => forkedFrom?.session === id)
    assert.ok(fork, 'the list has the fork')
    const { events } = await operator.events(fork.id)
    assert.equal(events.filter(({ event }) => event.type === 'call.started').length, 1)
  })

  test('answers the question of a call', async t => {
    const { url, operator } = rig()
    await said(operator, 'Order A-1 was billed wrongly', 'clerk')
    const walk = await begin(t, url)
    await walk.press(/^Approvals/)
    await walk.press(/How much of A-1\?/)
    await walk.write(/^Amount/, '12')
    await walk.picture('answer a question')
    await walk.press('Send the answer')
    await walk.see('Change a file: path “src/cart.ts”')
    await walk.seeOnly(0, 'How much of A-1?')
    await walk.end(t, 'answer a question')
  })

  test('takes a grant back', async t => {
    const { url, operator } = rig()
    const walk = await begin(t, url)
    await walk.press(/Mail ana@example\.org that I am late/)
    await walk.press('Always…')
    await walk.choose('with any arguments')
    await walk.press('Allow always')
    await walk.see(/Sent to ana@example\.org/)
    await walk.press(/^Approvals/)
    await walk.press('Grants')
    await walk.see('Revoke')
    await walk.picture('revoke a grant')
    await walk.press('Revoke')
    await walk.see('None of the newest 50 sessions has a grant')
    await walk.end(t, 'revoke a grant')
    const { sessions } = await operator.sessions()
    for (const { id } of sessions) assert.deepEqual((await operator.session(id)).grants, [])
  })
})

describe('an operator', { skip }, () => {
  const { browser } = suite()

  async function begin(t: TestContext, url: string): Promise<Walk> {
    const { page, problems } = await open(t, browser(), url, view)
    t.after(() => assert.deepEqual(problems, []))
    return new Walk(page)
  }

  test('finds what failed yesterday among hundreds of sessions', async t => {
    const at = Date.now() - 26 * 3_600_000
    const { url, operator } = await consoleServer(t, { prepare: data => seed(data, { sessions: 300, at }) })
    await said(operator, 'What is the weather today?')
    const walk = await begin(t, url)
    await walk.press('Sessions')
    await walk.choose('failed')
    await walk.press(/city number 99\?/)
    await walk.see('Failed: The vendor answered 529: overloaded.')
    await walk.end(t, 'find yesterdays failure')
  })

  test('adds the first key, which closes the server and signs them in', async t => {
    const { url } = await consoleServer(t)
    const walk = await begin(t, url)
    await walk.press(/^(?:System|Overview)$/)
    await walk.write('New key for', 'ana')
    await walk.press('Add')
    await walk.see('Signed in as ana')
    await walk.see('Failed last')
    await walk.see(/^tw_/)
    await walk.end(t, 'add a key')
    assert.equal((await fetch(`${url}/operator/sessions`)).status, 401)
  })

  test('watches a node die, and its sessions go to another', own, async t => {
    const nodes = await processes(t, 3_000)
    const [first, second] = [await nodes.start(), await nodes.start()]
    for (const { url } of [first, second]) await say(url, await beginOn(url), 'Are you there?')
    const walk = await begin(t, first.url)
    await walk.press(/^(?:System|Overview)$/)
    await walk.see(/^2 turns that ended/)
    await walk.see('answers this page')
    await walk.seeOnly(2, /^works$/)
    second.child.kill('SIGKILL')
    await walk.seeOnly(1, /^works$/)
    await walk.see('lease ended; others take its sessions')
    await walk.end(t, 'watch a node die')
  })
})
