import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { type NameRule, toolNames, type WireNames } from './wire-names.ts'

const wireNames = (names: readonly string[], rule: NameRule): WireNames =>
  toolNames(
    names.map(name => ({ name })),
    rule,
  )

const rule: NameRule = { pattern: /^[a-zA-Z0-9_-]+$/, maxLength: 64 }

test('a name that the vendor takes is sent as it is', () => {
  assert.equal(wireNames(['get_weather'], rule).toWire('get_weather'), 'get_weather')
})

test('names that are cleaned alike stay distinct, and are read back', () => {
  const long = 'x'.repeat(64)
  const names = ['a.b', 'a_b', 'a-b', 'а_b', 'a b', '', '.', `${long}1`, `${long}2`, '\ud800', '😀', '1st']
  for (const firstLetter of [false, true]) {
    const { toWire, fromWire } = wireNames(names, { ...rule, firstLetter })
    const wires = names.map(toWire)
    assert.equal(new Set(wires).size, names.length)
    for (const [at, wire] of wires.entries()) {
      assert.match(wire, firstLetter ? /^[a-zA-Z_][a-zA-Z0-9_-]{0,63}$/ : /^[a-zA-Z0-9_-]{1,64}$/)
      assert.equal(fromWire.get(wire), names[at])
    }
  }
})

test('the spelling of a name does not depend on the other names', () => {
  const alone = wireNames(['fs.read'], rule).toWire('fs.read')
  assert.equal(wireNames(['fs_read', 'fs.read', 'z'], rule).toWire('fs.read'), alone)
  assert.equal(wireNames([], rule).toWire('fs.read'), alone)
})

test('no tool gets another’s spelling by taking its name', () => {
  const victim = wireNames([], rule).toWire('fs.read')
  const names = ['fs.read', victim]
  const { toWire, fromWire } = wireNames(names, rule)
  assert.equal(toWire(victim), victim)
  assert.notEqual(toWire('fs.read'), victim)
  for (const name of names) assert.equal(fromWire.get(toWire(name)), name)
})

test('a tool that is no longer offered has a spelling, but is not read back', () => {
  const { toWire, fromWire } = wireNames(['a'], rule)
  assert.match(toWire('old tool'), rule.pattern)
  assert.equal(fromWire.has(toWire('old tool')), false)
})

test('a name that the vendor reserved gets another spelling', () => {
  const { toWire, fromWire } = wireNames(['search'], { ...rule, reserved: new Set(['search']) })
  assert.notEqual(toWire('search'), 'search')
  assert.equal(fromWire.get(toWire('search')), 'search')
})

test('any set of names is mapped without loss', () => {
  fc.assert(
    fc.property(fc.uniqueArray(fc.string({ unit: 'binary', maxLength: 80 }), { maxLength: 20 }), names => {
      const { toWire, fromWire } = wireNames(names, rule)
      for (const name of names) {
        assert.match(toWire(name), /^[a-zA-Z0-9_-]{1,64}$/)
        assert.equal(fromWire.get(toWire(name)), name)
      }
    }),
  )
})
