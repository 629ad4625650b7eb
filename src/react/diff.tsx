// Lines that differ, with numbers, counts and the file's syntax; what is the same is folded.
import { type ReactElement, useMemo, useState } from 'react'
import { printable } from '../lib/text/index.ts'
import { type CodeLine, findLanguage, useHighlighted, Words } from './code.tsx'
import { type DiffLine, diffLines, foldSame, readUnifiedDiff } from './line-diff.ts'
import { SafeText } from './parts.tsx'

export type DiffProps =
  | { before: string; after: string; patch?: never }
  | { patch: string; before?: never; after?: never }

/** `path` names the file, and its language. Without one it is JSON or plain text. */
export function Diff(props: DiffProps & { label?: string; path?: string; language?: string }): ReactElement {
  const { patch, before = '', after = '', label = 'Changes', path } = props
  const lines = useMemo(
    () => (patch === undefined ? diffLines(before, after) : readUnifiedDiff(patch)),
    [patch, before, after],
  )
  const language = patch === undefined ? (props.language ?? (path && findLanguage(path))) : undefined
  const sides = { before: useHighlighted(before, language), after: useHighlighted(after, language) }
  const added = lines.filter(({ kind }) => kind === 'added').length
  const removed = lines.filter(({ kind }) => kind === 'removed').length
  if (added + removed === 0 && lines.every(line => line.kind === 'same'))
    return <p className="tw-muted">Nothing is different.</p>
  return (
    <section className="tw-diff" aria-label={label}>
      <p className="tw-diff-top">
        <code>{path === undefined ? '' : printable(path, 300)}</code>
        <DiffCounts added={added} removed={removed} />
      </p>
      {foldSame(lines).map((block, index) => (
        <DiffBlock key={index} block={block} sides={sides} />
      ))}
    </section>
  )
}

function DiffCounts({ added, removed }: { added: number; removed: number }): ReactElement {
  return (
    <span className="tw-diff-counts">
      <span className="tw-count-added">
        +{added}
        <span className="tw-hidden"> lines added, </span>
      </span>{' '}
      <span className="tw-count-removed">
        −{removed}
        <span className="tw-hidden"> lines removed</span>
      </span>
    </span>
  )
}

type DiffSides = { before: CodeLine[] | undefined; after: CodeLine[] | undefined }
type BlockProps = { block: { lines: DiffLine[] } | { folded: DiffLine[] }; sides: DiffSides }

function DiffBlock({ block, sides }: BlockProps): ReactElement {
  const [isOpen, setOpen] = useState(false)
  if ('folded' in block && !isOpen)
    return (
      <button type="button" className="tw-button tw-fold" onClick={() => setOpen(true)}>
        {block.folded.length} lines are the same
      </button>
    )
  return <DiffTable lines={'lines' in block ? block.lines : block.folded} sides={sides} />
}

const signs = { same: ' ', added: '+', removed: '−', head: '' } as const
const spoken = { same: '', added: 'added: ', removed: 'removed: ', head: '' } as const

function DiffTable({ lines, sides }: { lines: readonly DiffLine[]; sides: DiffSides }): ReactElement {
  return (
    <div className="tw-diff-lines">
      {lines.map((line, index) => (
        <div key={index} className={`tw-diff-line tw-diff-${line.kind}`}>
          <span className="tw-diff-number" aria-hidden="true">
            {line.before}
          </span>
          <span className="tw-diff-number" aria-hidden="true">
            {line.after}
          </span>
          <span className="tw-diff-sign" aria-hidden="true">
            {signs[line.kind]}
          </span>
          <span className="tw-diff-text">
            {spoken[line.kind] && <span className="tw-hidden">{spoken[line.kind]}</span>}
            <DiffWords line={line} sides={sides} />
          </span>
        </div>
      ))}
    </div>
  )
}

/** In colours only if the highlighter gives back the same text: what is shown is what is compared. */
function DiffWords({ line, sides }: { line: DiffLine; sides: DiffSides }): ReactElement {
  const words =
    line.after === undefined ? sides.before?.[(line.before ?? 0) - 1] : sides.after?.[line.after - 1]
  if (words?.map(({ value }) => value).join('') !== line.text) return <SafeText text={line.text} />
  return <Words line={words} />
}
