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

  test('paths that no file can have, and wrong lines, are left out', () => {
    const report = gate.report({ locations: [{ path: '' }, { path: 'a\0b' }, { path: 'c', line: 0 }] })
    assert.deepEqual(report, { locations: [{ path: 'c' }], leftOut: 2 })
  })
})
