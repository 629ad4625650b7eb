// The globals of a program in the sandbox, as JavaScript that runs there before it: the tools as functions, the
// catalogue, `console`, and a clock and a random generator that give the same in every run. A program may change all of
// them and hurts only itself: limits and calls are checked outside.

const calls = `
  const { stringify, parse } = JSON
  const { apply } = Reflect
  const { then } = Promise.prototype
  const NativePromise = Promise
  const NativeError = Error
  const pending = { __proto__: null }

  const site = () => {
    const lines = String(new NativeError().stack).split('\\n')
    const line = lines.find(each => each.includes('program.js:')) ?? ''
    return line.slice(line.indexOf('program.js:') + 11).replace(')', '')
  }

  const call = (name, input) => {
    const from = site()
    const text = typeof input === 'string' ? input : stringify(input ?? {})
    return new NativePromise((resolve, reject) => {
      const id = host.call(name, text, from)
      if (typeof id === 'number') pending[id] = { resolve, reject }
      else reject(new NativeError(id))
    })
  }

  const functions = { __proto__: null }
  const functionOf = name => {
    if (typeof name !== 'string') return undefined
    if (functions[name]) return functions[name]
    if (!host.has(name)) {
      if (name === 'then' || name === 'toJSON') return undefined
      throw new TypeError('There is no tool named ' + stringify(name) + '.')
    }
    return (functions[name] = input => call(name, input))
  }
  globalThis.tools = new Proxy({ __proto__: null }, {
    get: (_, name) => functionOf(name),
    has: (_, name) => typeof name === 'string' && host.has(name),
    ownKeys: () => parse(host.names()),
    getOwnPropertyDescriptor: (_, name) =>
      typeof name === 'string' && host.has(name)
        ? { value: functionOf(name), enumerable: true, configurable: true }
        : undefined,
    set: () => false,
    defineProperty: () => false,
    deleteProperty: () => false,
  })

`

const surroundings = `
  globalThis.catalogue = {
    list: module => parse(host.catalogue('list', module === undefined ? '' : String(module), 0)),
    search: (query, limit = 10) => parse(host.catalogue('search', String(query), Number(limit))),
    read: name => parse(host.catalogue('read', String(name), 0)),
  }

  const shown = value => {
    if (typeof value === 'string') return value
    try {
      return stringify(value) ?? String(value)
    } catch {
      return String(value)
    }
  }
  const log = (...values) => host.log(values.map(shown).join(' ').slice(0, longest))
  globalThis.console = { log, info: log, warn: log, error: log, debug: log }

  const NativeDate = Date
  globalThis.Date = new Proxy(NativeDate, {
    construct: (_, values, target) => Reflect.construct(NativeDate, values.length === 0 ? [now] : values, target),
    apply: () => new NativeDate(now).toString(),
  })
  NativeDate.now = () => now
  NativeDate.prototype.constructor = globalThis.Date
  let random = seed >>> 0
  Math.random = () => {
    random = (random + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(random ^ (random >>> 15), random | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296
  }
  for (const name of ['performance', 'WeakRef', 'FinalizationRegistry', 'SharedArrayBuffer', 'Atomics'])
    delete globalThis[name]

`

const endings = `
  const words = error => {
    const message = error instanceof NativeError ? error.name + ': ' + error.message : shown(error)
    const place = error instanceof NativeError ? String(error.stack) : ''
    return stringify([String(message).slice(0, longest), place.slice(0, 4096)])
  }
  return {
    deliver(id, ok, text) {
      const { resolve, reject } = pending[id]
      delete pending[id]
      const value = parse(text)
      if (ok) return resolve(value)
      const error = new NativeError(value.message)
      error.name = 'ToolError'
      error.tool = value.tool
      error.outcome = value.outcome
      reject(error)
    },
    watch(promise) {
      const done = value => {
        const text = value === undefined ? '' : stringify(value) ?? ''
        if (text.length > longest)
          host.failed(stringify(['The program returned ' + text.length + ' characters; ' + longest + ' are allowed. Return less.', '']))
        else host.done(text)
      }
      const failed = error => {
        let text = '["The program threw something that cannot be shown.",""]'
        try {
          text = words(error)
        } catch {}
        host.failed(text)
      }
      apply(then, apply(then, promise, [done]), [undefined, failed])
    },
  }
`

/** Evaluates to a function that takes the host's functions and gives `deliver` and `watch`. */
export const prelude = `(function (host, now, seed, longest) {
  'use strict'${calls}${surroundings}${endings}})`
