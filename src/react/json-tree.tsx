// Arguments and results as a tree that can be opened, copied and shown raw. Values are text nodes; long ones are folded,
// never cut without a mark.
import { type ReactElement, useState } from 'react'
import { isJsonObject, type Json } from '../lib/json/index.ts'
import { printable } from '../lib/text/index.ts'
import { CopyButton, Fold, LongText, SafeText } from './parts.tsx'
import { plural } from './words.ts'

export type JsonTreeProps = {
  value: Json
  /** Exactly as it was written, for "raw" and for copies. */
  raw?: string
  /** Says what it is to screen readers. */
  label?: string
}

export function JsonTree({ value, raw, label = 'Value' }: JsonTreeProps): ReactElement {
  const [isRaw, setRaw] = useState(false)
  const text = raw ?? JSON.stringify(value, null, 2)
  return (
    <section className="tw-tree" aria-label={label}>
      <div className="tw-tree-tools">
        <button
          type="button"
          className="tw-button tw-small"
          aria-pressed={isRaw}
          onClick={() => setRaw(!isRaw)}
        >
          Raw
        </button>
        <CopyButton text={text} />
      </div>
      {isRaw ? <LongText text={text} /> : <Node value={value} depth={0} />}
    </section>
  )
}

const mostMembers = 100

function Node({ value, depth }: { value: Json; depth: number }): ReactElement {
  const [shown, setShown] = useState(mostMembers)
  if (!Array.isArray(value) && !isJsonObject(value)) return <Leaf value={value} />
  const entries = Array.isArray(value)
    ? value.map((member, index): [string, Json] => [String(index), member])
    : Object.entries(value)
  if (entries.length === 0) return <code className="tw-leaf">{Array.isArray(value) ? '[ ]' : '{ }'}</code>
  return (
    <dl className="tw-members">
      {entries.slice(0, shown).map(([name, member]) => (
        <Member key={name} name={name} value={member} depth={depth} />
      ))}
      {entries.length > shown && (
        <button type="button" className="tw-button tw-fold" onClick={() => setShown(shown + 1000)}>
          Show {entries.length - shown} more
        </button>
      )}
    </dl>
  )
}

function Member({ name, value, depth }: { name: string; value: Json; depth: number }): ReactElement {
  const size = describeSize(value)
  if (size === undefined)
    return (
      <div className="tw-member">
        <dt>
          <SafeText text={name} oneLine />
        </dt>
        <dd>
          <Node value={value} depth={depth + 1} />
        </dd>
      </div>
    )
  return (
    <div className="tw-member tw-branch">
      <dt className="tw-hidden">{printable(name, 200)}</dt>
      <dd>
        <Fold
          open={depth < 2}
          label={
            <>
              <code>{printable(name, 200)}</code> <Gist value={value} /> {size}
            </>
          }
        >
          <Node value={value} depth={depth + 1} />
        </Fold>
      </dd>
    </div>
  )
}

/** Members that tell the items of a list apart, the first one that is there. */
const telling = ['name', 'type', 'role', 'id', 'title']

/** A folded object's most telling member. */
function Gist({ value }: { value: Json }): ReactElement | null {
  if (!isJsonObject(value)) return null
  const words = telling.map(name => value[name]).find(each => typeof each === 'string')
  return typeof words === 'string' ? <code className="tw-gist">{printable(words, 40)}</code> : null
}

/** Undefined: it has nothing inside. */
function describeSize(value: Json): string | undefined {
  const size = Array.isArray(value) ? value.length : isJsonObject(value) ? Object.keys(value).length : 0
  if (size === 0) return undefined
  return plural(size, Array.isArray(value) ? 'item' : 'member')
}

function Leaf({ value }: { value: null | boolean | number | string }): ReactElement {
  if (typeof value !== 'string') return <code className="tw-leaf tw-literal">{String(value)}</code>
  if (value === '') return <code className="tw-leaf tw-literal">(empty text)</code>
  if (value.includes('\n') || value.length > 200) return <LongText text={value} />
  return (
    <code className="tw-leaf">
      <SafeText text={value} oneLine />
    </code>
  )
}
