import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Json } from '../../lib/json/index.ts'
import { keepTools } from './known-tools.ts'

function counting() {
  const read: Json[] = []
  const tools = keepTools(value => {
    read.push(value)
    return { value }
  })
  return { read, tools }
}

test('a list with the same text gives the same objects, and any other list its own', () => {
  const { read, tools } = counting()
  const first = tools([{ name: 'a', parameters: { type: 'object' } }])
  assert.equal(tools([{ name: 'a', parameters: { type: 'object' } }]), first)
  assert.notEqual(tools([{ name: 'a', parameters: { type: 'string' } }]), first)
  assert.equal(read.length, 2)
})

test('the lists that were asked for last are kept, and no long ones', () => {
  const { read, tools } = counting()
  const first = tools(['first'])
  for (let at = 0; at < 31; at++) tools([at])
  assert.equal(tools(['first']), first)
  for (let at = 100; at < 132; at++) tools([at])
  assert.notEqual(tools(['first']), first)
  const long = ['x'.repeat(300_000)]
  assert.notEqual(tools(long), tools(long))
  assert.equal(read.filter(value => value === long).length, 2)
})

test('a list that is refused is read again', () => {
  let times = 0
  const tools = keepTools(() => {
    times++
    throw new Error('refused')
  })
  assert.throws(() => tools([]))
  assert.throws(() => tools([]))
  assert.equal(times, 2)
})
