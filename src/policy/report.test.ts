import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { Report } from '../language/report.ts'
import { createGate } from './index.ts'

const gate = createGate({ redact: [{ name: 'pin', pattern: 'PIN[0-9]+' }] })

describe('reports', () => {
  test('are redacted like output, with only the members that are known', () => {
    const given = {
      locations: [{ path: 'a PIN12', line: 3, extra: 1 }],
      diffs: [{ path: 'a', oldText: 'PIN1', newText: 'x PIN2 \ud800', native: {} }],
      terminals: [{ id: '1', command: 'login PIN3', cwd: '/w', output: 'PIN4', exit: { code: 0, more: 1 } }],
      rows: { columns: ['user', 'code', 'n'], rows: [['Ann', 'PIN5', 7], ['Bob'], 'no row'], more: 1 },
      other: 'x',
    } as unknown as Report // A tool may return anything.
    assert.deepEqual(gate.report(given), {
      locations: [{ path: 'a [redacted: pin]', line: 3 }],
      diffs: [{ path: 'a', oldText: '[redacted: pin]', newText: 'x [redacted: pin] \ufffd' }],
      terminals: [
        {
          id: '1',
          command: 'login [redacted: pin]',
          cwd: '/w',
          output: '[redacted: pin]',
          exit: { code: 0 },
        },
      ],
      rows: {
        columns: ['user', 'code', 'n'],
        rows: [
          ['Ann', '[redacted: pin]', '7'],
          ['Bob', '', ''],
        ],
      },
      leftOut: 1,
    })
  })

  test('are bounded: a difference that is too large becomes a location', () => {
    const large = 'x'.repeat(300_000)
    const report = gate.report({
      diffs: [
        { path: 'large', oldText: null, newText: large },
        { path: 'small', oldText: null, newText: 'y' },
      ],
    })
    assert.deepEqual(report, {
      diffs: [{ path: 'small', oldText: null, newText: 'y' }],
      locations: [{ path: 'large' }, { path: 'small' }],
      leftOut: 1,
    })
    const many = Array.from({ length: 500 }, (_, at) => ({ path: `f${at}` }))
    const { locations, leftOut } = gate.report({ locations: many })
    assert.equal(locations?.length, 200)
    assert.equal(leftOut, 300)
    const output = gate.report({ terminals: [{ id: '1', output: large }] }).terminals?.[0]?.output
    assert.equal(output?.length, 256 * 1024)
  })

  test('of a table are bounded: columns, rows, and the length of a cell', () => {
    const wide = Array.from({ length: 40 }, (_, at) => `c${at}`)
    const { rows, leftOut } = gate.report({
      rows: { columns: wide, rows: Array.from({ length: 600 }, () => wide) },
    })
    assert.deepEqual([rows?.columns.length, rows?.rows.length, rows?.rows[0]?.length], [30, 500, 30])
    assert.equal(leftOut, 100)
    const long = gate.report({ rows: { columns: ['a'], rows: [['x'.repeat(5000)]] } })
    assert.equal(long.rows?.rows[0]?.[0]?.length, 1000)
    const large = Array.from({ length: 400 }, () => ['y'.repeat(1000)])
    assert.equal(gate.report({ rows: { columns: ['a'], rows: large } }).leftOut, 138)
    assert.deepEqual(gate.report({ rows: { columns: [], rows: [['a']] } }), {})
    assert.deepEqual(gate.report({ rows: 'a table' } as unknown as Report), {}) // A tool may return anything.
  })

  test('paths that no file can have, and wrong lines, are left out', () => {
    const report = gate.report({ locations: [{ path: '' }, { path: 'a\0b' }, { path: 'c', line: 0 }] })
    assert.deepEqual(report, { locations: [{ path: 'c' }], leftOut: 2 })
  })
})
