// What a Node that is too old is told: why it cannot run Turnwire, and what to do on this machine.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { nodeComplaint } from '../../bin/supported-node.mjs'

test('the Node that runs the tests is supported', () => {
  assert.equal(nodeComplaint(process.versions, false), undefined)
  assert.equal(nodeComplaint({ node: '24.16.0', sqlite: '3.53.0' }, false), undefined)
})

test('an older one is told why', () => {
  for (const [node, sqlite, why] of [
    ['20.20.2', undefined, 'which has no SQLite'],
    ['22.18.0', '3.50.2', 'whose SQLite (3.50.2) can damage its files or cut texts short'],
    ['22.23.3', '3.51.3', 'whose SQLite (3.51.3) can damage its files or cut texts short'],
    ['26.0.0', '3.51.3', 'whose SQLite (3.51.3) can damage its files or cut texts short'],
  ] as const) {
    const words = nodeComplaint({ node, sqlite }, false) ?? ''
    assert.ok(words.startsWith(`Turnwire needs Node 24.16 or newer. This is Node ${node}, ${why}.`), words)
    assert.match(words, /nodejs\.org/)
  }
})

test('only where a checkout brings a Node along is npm said to do so', () => {
  assert.match(nodeComplaint({ node: '20.20.2' }, true) ?? '', /npm brings the right one along: npm start/)
  assert.doesNotMatch(nodeComplaint({ node: '20.20.2' }, false) ?? '', /npm start/)
})
