// A file with rules, in YAML or JSON: read and checked when the process starts, and read again when it changes. A state of the file
// that is wrong is not used: the rules before it stay in force, and the log, /health and the operator API say why.
import { unwatchFile, watchFile } from 'node:fs'
import { resolve } from 'node:path'
import { wordsOf } from '../language/errors.ts'
import type { RulesFileState } from '../language/policy.ts'
import { isRecord } from '../lib/checks/fields.ts'
import type { Log } from '../log.ts'
import { checkRules, type PolicyRule } from '../policy/index.ts'
import { DataFile, readDataText } from './data-file.ts'

export type FileRules = { rules: readonly PolicyRule[]; shadow?: readonly PolicyRule[] }

/** Makes everything ready for these rules, and gives a function that puts them in force. Throws if they cannot be. */
type Prepare = (rules: FileRules) => () => void

const lookEveryMs = 1_000
const called = 'The file of rules'

export class RulesFile {
  readonly #file: string
  readonly #log: Log
  readonly #now: () => number
  readonly #prepare: Prepare[] = []
  #text: string
  #rules: FileRules
  #state: RulesFileState
  #look: (() => void) | undefined

  /** Throws `config_invalid` if the file cannot be used. */
  constructor(file: string, log: Log, now: () => number = Date.now) {
    this.#file = resolve(file)
    this.#log = log
    this.#now = now
    this.#text = readDataText(this.#file, called)
    this.#rules = parseRules(this.#text, file)
    this.#state = { file, loadedAt: now() }
  }

  get rules(): FileRules {
    return this.#rules
  }

  get state(): RulesFileState {
    return this.#state
  }

  /** `prepare` is asked about each new state of the file. All have to agree before it is put in force. */
  onChange(prepare: Prepare): void {
    this.#prepare.push(prepare)
  }

  /** Reads it again. True: there are other rules in force now. */
  reload(): boolean {
    try {
      const text = readDataText(this.#file, called)
      if (text === this.#text && this.#state.problem === undefined) return false
      const rules = parseRules(text, this.#state.file)
      const apply = this.#prepare.map(prepare => prepare(rules))
      for (const each of apply) each()
      this.#text = text
      this.#rules = rules
      this.#state = { file: this.#state.file, loadedAt: this.#now() }
      this.#log('info', 'The rules of the policy were loaded anew.', {
        file: this.#state.file,
        rules: rules.rules.length,
      })
      return true
    } catch (error) {
      const problem = wordsOf(error)
      if (problem === this.#state.problem) return false
      this.#state = { ...this.#state, problem }
      this.#log('error', 'The file of rules cannot be used. The rules before it stay in force.', {
        file: this.#state.file,
        problem,
      })
      return false
    }
  }

  /** Looks at the file each second: this also sees files that are replaced, and those on network drives and in mounts. */
  watch(changed: () => void): void {
    if (this.#look) return
    this.#look = () => {
      const before = this.#state
      this.reload()
      if (this.#state !== before) changed()
    }
    watchFile(this.#file, { interval: lookEveryMs, persistent: false }, this.#look)
  }

  stop(): void {
    if (this.#look) unwatchFile(this.#file, this.#look)
    this.#look = undefined
  }
}

/** `file`: for messages. Throws `config_invalid` with the line and what to do. */
export function parseRules(text: string, file: string): FileRules {
  const data = new DataFile(text, file)
  const { value } = data
  const isList = Array.isArray(value)
  const given = isList ? { rules: value } : value
  if (!isRecord(given)) throw data.wrong([], 'must hold a list of rules, or { rules, shadow }.')
  for (const key of Object.keys(given))
    if (key !== 'rules' && key !== 'shadow')
      throw data.wrong([key], `"${key}" is not known here; there are rules and shadow.`)
  const read = (list: 'rules' | 'shadow'): PolicyRule[] | undefined => {
    const rules = given[list]
    if (rules === undefined) return undefined
    if (!Array.isArray(rules)) throw data.wrong([list], `"${list}" must be a list of rules.`)
    try {
      return checkRules(rules, list)
    } catch (error) {
      const message = wordsOf(error)
      const [, index = '', members = ''] = /^\w+\[(\d+)\]((?:\.[\w-]+)*)/.exec(message) ?? []
      const path = [...(isList ? [] : [list]), Number(index), ...members.split('.').slice(1)]
      throw data.wrong(index === '' ? [] : path, message)
    }
  }
  const shadow = read('shadow')
  const rules = (read('rules') ?? []).map((rule, index) => ({ name: `file[${index}]`, ...rule }))
  return { rules, ...(shadow && { shadow }) }
}
