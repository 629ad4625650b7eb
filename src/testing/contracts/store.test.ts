// The store suite reports broken stores as ordinary failed tests. Each case runs the suite in a process of its own, so
// that an unhandled rejection or a crash of the run would be seen here.
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { test } from 'node:test'

const here = (path: string): string => JSON.stringify(new URL(path, import.meta.url).href)

type Report = { tests: number; pass: number; fail: number; output: string }

/** `make` is the source of a MakeStore. */
function runSuite(make: string): Report {
  const program = `
    import { memoryStore } from ${here('../../stores/memory.ts')}
    import { TurnwireError } from ${here('../../language/errors.ts')}
    import { storeContract } from ${here('store.ts')}
    const cleanup = async () => {}
    const broken = () => { throw new TurnwireError('store_failed', 'broken') }
    /** The store, with each method made by \`change\` from its name and its implementation. */
    const changed = change => {
      const store = memoryStore()
      const methods = Object.keys(store).filter(name => typeof store[name] === 'function')
      return Object.fromEntries(methods.map(name => [name, change(name, store[name])]))
    }
    storeContract('tried', ${make})`
  const { NODE_TEST_CONTEXT: _, ...env } = process.env
  const args = ['--test-reporter=tap', '--input-type=module', '--eval', program]
  const { stdout, stderr, signal } = spawnSync(process.execPath, args, {
    encoding: 'utf8',
    env,
    timeout: 600_000,
  })
  assert.deepEqual([stderr, signal], ['', null])
  assert.doesNotMatch(stdout, /unhandledRejection|uncaughtException|asynchronous activity|testAborted/i)
  const count = (word: string) => Number(new RegExp(`^# ${word} (\\d+)$`, 'm').exec(stdout)?.[1])
  return { tests: count('tests'), pass: count('pass'), fail: count('fail'), output: stdout }
}

const whole = runSuite('async () => ({ store: memoryStore(), cleanup })')

test('a good store passes all tests', () => {
  assert.ok(whole.tests > 40)
  assert.equal(whole.fail, 0, whole.output)
})

test('a store of a class passes, since its methods are called on it', () => {
  const { tests, fail, output } = runSuite(`async () => {
    class ByClass {
      #inner = memoryStore()
      create(session) { return this.#inner.create(session) }
      claim(id, recovering) { return this.#inner.claim(id, recovering) }
      append(batch) { return this.#inner.append(batch) }
      row(id) { return this.#inner.row(id) }
      requested(owner, key) { return this.#inner.requested(owner, key) }
      read(id, after, options) { return this.#inner.read(id, after, options) }
      list(owner, page) { return this.#inner.list(owner, page) }
      owners() { return this.#inner.owners() }
      usage(owner) { return this.#inner.usage(owner) }
      unfinished() { return this.#inner.unfinished() }
      remove(id) { return this.#inner.remove(id) }
      putBlob(id, name, body) { return this.#inner.putBlob(id, name, body) }
      blob(id, name) { return this.#inner.blob(id, name) }
      addPiece(id, name, piece) { return this.#inner.addPiece(id, name, piece) }
      blobRange(id, name, from, length) { return this.#inner.blobRange(id, name, from, length) }
      async close() {}
    }
    return { store: new ByClass(), cleanup }
  }`)
  assert.deepEqual([tests, fail], [whole.tests, 0], output)
})

const brokenStores = {
  'a store whose methods all throw': 'async () => ({ store: changed(() => broken), cleanup })',
  'a store whose methods all reject': 'async () => ({ store: changed(() => async () => broken()), cleanup })',
  'a store that throws at every third append': `async () => {
    let appends = 0
    const append = method => batch => (++appends % 3 === 0 ? broken() : method(batch))
    return { store: changed((name, method) => (name === 'append' ? append(method) : method)), cleanup }
  }`,
  'a store that rejects at every third append': `async () => {
    let appends = 0
    const append = method => async batch => (++appends % 3 === 0 ? broken() : method(batch))
    return { store: changed((name, method) => (name === 'append' ? append(method) : method)), cleanup }
  }`,
  'a store that appends late and refuses everything else at once': `async () => {
    const late = method => batch => new Promise(resolve => setTimeout(resolve, 2)).then(() => method(batch))
    return { store: changed((name, method) => (name === 'append' ? late(method) : method)), cleanup }
  }`,
  'a store that rejects some appends late and then throws': `async () => {
    let appends = 0
    const late = () => new Promise((_, reject) => setTimeout(reject, 2, new Error('late')))
    const append = () => (++appends % 3 === 0 ? broken() : late())
    return { store: changed((name, method) => (name === 'append' ? append : method)), cleanup }
  }`,
  'a store that cannot be made': 'async () => broken()',
  'a store whose cleanup fails': 'async () => ({ store: memoryStore(), cleanup: async () => broken() })',
}

for (const [name, make] of Object.entries(brokenStores))
  test(`${name} fails tests, and every test is reported`, () => {
    const { tests, fail, output } = runSuite(make)
    assert.equal(tests, whole.tests, output)
    assert.ok(fail > 0, output)
  })
