// The output of a tool, by its kind: text, JSON, a diff, a terminal, an image, a link. Nothing of it is rendered as
// markup, and nothing is fetched: an image is shown only from data of a safe kind.
import { type ReactElement, useMemo, useState } from 'react'
import type { ResultPart } from '../language/content.ts'
import { isJsonObject, type Json } from '../lib/json/index.ts'
import { printable } from '../lib/text/index.ts'
import { plainTerminal, terminalSpans } from './ansi.ts'
import { JsonTree } from './json-tree.tsx'
import { type DiffLine, diffLines, foldSame, isUnifiedDiff, readUnifiedDiff } from './line-diff.ts'
import { CopyButton, LongText, SafeText } from './parts.tsx'

export type DiffProps =
  | { before: string; after: string; patch?: never }
  | { patch: string; before?: never; after?: never }

export function Diff(props: DiffProps & { label?: string }): ReactElement {
  const { patch, before = '', after = '', label = 'Changes' } = props
  const lines = useMemo(
    () => (patch === undefined ? diffLines(before, after) : readUnifiedDiff(patch)),
    [patch, before, after],
  )
  if (lines.every(line => line.kind === 'same')) return <p className="tw-muted">Nothing is different.</p>
  return (
    <section className="tw-diff" aria-label={label}>
      {foldSame(lines).map((block, index) => (
        <DiffBlock key={index} block={block} />
      ))}
    </section>
  )
}

function DiffBlock({ block }: { block: { lines: DiffLine[] } | { folded: DiffLine[] } }): ReactElement {
  const [isOpen, setOpen] = useState(false)
  if ('folded' in block && !isOpen)
    return (
      <button type="button" className="tw-button tw-fold" onClick={() => setOpen(true)}>
        {block.folded.length} lines are the same
      </button>
    )
  return <DiffTable lines={'lines' in block ? block.lines : block.folded} />
}

const signs = { same: ' ', added: '+', removed: '−', head: '' } as const
const spoken = { same: '', added: 'added: ', removed: 'removed: ', head: '' } as const

function DiffTable({ lines }: { lines: readonly DiffLine[] }): ReactElement {
  return (
    <div className="tw-diff-lines">
      {lines.map((line, index) => (
        <div key={index} className={`tw-diff-line tw-diff-${line.kind}`}>
          <span className="tw-diff-sign" aria-hidden="true">
            {signs[line.kind]}
          </span>
          <span className="tw-diff-text">
            {spoken[line.kind] && <span className="tw-hidden">{spoken[line.kind]}</span>}
            <SafeText text={line.text} />
          </span>
        </div>
      ))}
    </div>
  )
}

/** Terminal output: colours and weights, and no other control sequence. */
export function Terminal({
  text,
  label = 'Terminal output',
}: {
  text: string
  label?: string
}): ReactElement {
  const [isWhole, setWhole] = useState(false)
  const lines = text.split('\n')
  const isLong = !isWhole && (lines.length > 400 || text.length > 100_000)
  const shown = isLong ? lines.slice(-400).join('\n').slice(-100_000) : text
  const spans = useMemo(() => terminalSpans(shown), [shown])
  return (
    <section className="tw-terminal" aria-label={label} tabIndex={0}>
      {isLong && (
        <button type="button" className="tw-button tw-fold" onClick={() => setWhole(true)}>
          Show all {lines.length} lines
        </button>
      )}
      <pre>
        {spans.map((span, index) => (
          <span key={index} className={span.classes}>
            {span.text}
          </span>
        ))}
      </pre>
      <CopyButton text={() => plainTerminal(text)} />
    </section>
  )
}

const safeImage = /^data:image\/(?:png|jpeg|gif|webp|avif);base64,[A-Za-z0-9+/=\s]+$/

/** An image from data. Any other address, and SVG, which can hold scripts and links, is shown as text. */
export function Image({ url, alt = 'Image from a tool' }: { url: string; alt?: string }): ReactElement {
  const [isBroken, setBroken] = useState(false)
  if (safeImage.test(url) && !isBroken)
    return <img className="tw-image" src={url} alt={alt} onError={() => setBroken(true)} />
  const words = isBroken
    ? 'This image cannot be shown.'
    : 'An image at an address that is not loaded from here:'
  return <LinkAddress words={words} url={url} />
}

/** An address is text with a copy button: nothing here leads to another site by one click. */
function LinkAddress({ words, url }: { words: string; url: string }): ReactElement {
  return (
    <p className="tw-address">
      {words} <code>{printable(url, 300)}</code> <CopyButton text={url} label="Copy address" />
    </p>
  )
}

export function Output({
  parts,
  structured,
}: {
  parts: readonly ResultPart[]
  structured?: Json | undefined
}): ReactElement {
  return (
    <div className="tw-output">
      {parts.map((part, index) => (
        <OutputPart key={index} part={part} />
      ))}
      {structured !== undefined && <JsonTree value={structured} label="Structured result" />}
    </div>
  )
}

function OutputPart({ part }: { part: ResultPart }): ReactElement {
  if (part.type === 'image') return <Image url={part.url} />
  if (part.type === 'file') {
    const words = `File ${printable(part.name ?? '', 80)} (${printable(part.mediaType, 60)}):`
    return <LinkAddress words={words} url={part.url} />
  }
  return <TextOutput text={part.text} />
}

/** Text is shown as the kind that it looks like. */
export function TextOutput({ text }: { text: string }): ReactElement {
  if (text.includes('\u001b[') || text.includes('\u009b')) return <Terminal text={text} />
  if (isUnifiedDiff(text)) return <Diff patch={text} />
  const value = parseOutput(text)
  if (value !== undefined) return <JsonTree value={value} raw={text} label="Result" />
  return <LongText text={text} />
}

function parseOutput(text: string): Json | undefined {
  const start = text.trimStart()[0]
  if ((start !== '{' && start !== '[') || text.length > 2_000_000) return undefined
  try {
    const value = JSON.parse(text) as Json // JSON.parse gives JSON
    return isJsonObject(value) || Array.isArray(value) ? value : undefined
  } catch {
    return undefined
  }
}
