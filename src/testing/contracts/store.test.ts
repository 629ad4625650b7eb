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
      create(...args) { return this.#inner.create(...args) }
      claim(...args) { return this.#inner.claim(...args) }
      append(...args) { return this.#inner.append(...args) }
      row(...args) { return this.#inner.row(...args) }
      requested(...args) { return this.#inner.requested(...args) }
      read(...args) { return this.#inner.read(...args) }
      list(...args) { return this.#inner.list(...args) }
      owners(...args) { return this.#inner.owners(...args) }
      usage(...args) { return this.#inner.usage(...args) }
      unfinished(...args) { return this.#inner.unfinished(...args) }
      remove(...args) { return this.#inner.remove(...args) }
      putBlob(...args) { return this.#inner.putBlob(...args) }
      blob(...args) { return this.#inner.blob(...args) }
      blobs(...args) { return this.#inner.blobs(...args) }
      addPiece(...args) { return this.#inner.addPiece(...args) }
      blobRange(...args) { return this.#inner.blobRange(...args) }
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
