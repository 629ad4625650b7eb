// The tables of settings: each mistake with its key and what to do.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { checkConfig } from './check-config.ts'

const agent = { name: 'a', model: { id: 'm', respond() {} } }

function mistakes(config: object): string[] {
  try {
    checkConfig({ agents: [agent], ...config }, 'it')
    return []
  } catch (error) {
    assert.ok(error instanceof Error)
    return error.message.split('\n  ').slice(1)
  }
}

test('settings of a relay, a cluster and retention are checked by their tables', () => {
  assert.deepEqual(mistakes({ relay: { owners: '*', atOnce: 2, maxCost: '5' } }), [])
  assert.deepEqual(mistakes({ relay: { owner: '*', atOnce: 0, maxCost: 5 } }), [
    'relay.owner: there is no such setting. Did you mean "owners"?',
    'relay.atOnce: must be a whole number above 0.',
    'relay.maxCost: must be a whole number above 0 as text, in the smallest unit of the asset: "1000000".',
    'relay.owners: must list the wallets that may attach agents, such as ["0x…"] with 40 digits each, or be "*" for every wallet.',
  ])
  assert.deepEqual(mistakes({ relay: { owners: ['0x12'] } }).length, 1)
  assert.deepEqual(mistakes({ server: { cluster: { leaseMs: 1_000, secret: 's' } } }), [])
  assert.deepEqual(mistakes({ server: { cluster: { leaseMs: 999, adress: 'x', listen: 1 } } }), [
    'server.cluster.adress: there is no such setting. Did you mean "address"?',
    'server.cluster.listen: must be a string, not number.',
    'server.cluster.leaseMs: must be a whole number of at least 1000.',
  ])
  assert.deepEqual(mistakes({ agents: [{ ...agent, retention: { days: 0, byte: 1 } }] }), [
    'agents[0].retention.byte: there is no such setting. Did you mean "bytes"?',
    'agents[0].retention.days: must be a number above 0.',
  ])
})

test('a setting of the other kind of MCP server is told from one that there is not', () => {
  const wrong = mistakes({
    mcp: { here: { command: 'x', auth: {}, maxTools: 0 }, there: { url: 'https://h', argss: [] } },
  })
  assert.deepEqual(wrong, [
    'mcp.here.auth: is for a server with a url; this one has a command.',
    'mcp.here.maxTools: must be a whole number above 0.',
    'mcp.there.argss: there is no such setting. Did you mean "args"?',
  ])
})

test('a search and its embedder are checked, also together', () => {
  const embedder = { url: 'ftp://h', modl: 'm' }
  const lookup = (): string[] => []
  assert.deepEqual(mistakes({ agents: [{ ...agent, search: { embedder, lookup, results: 0 } }] }), [
    'agents[0].search.results: must be a whole number above 0.',
    'agents[0].search.embedder.modl: there is no such setting. Did you mean "model"?',
    'agents[0].search.embedder.url: must be an http or https address.',
    'agents[0].search.embedder.model: must be the name of a model.',
    'agents[0].search.lookup: replaces the embedder: leave one of them out.',
  ])
  assert.deepEqual(mistakes({ agents: [{ ...agent, always: ['x'] }] }), [
    'agents[0].always: has a meaning only with search: true.',
  ])
})
