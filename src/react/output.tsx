// The output of a tool, by its kind: text, JSON, a diff, a terminal, an image, a link. Nothing of it is rendered as
// markup, and nothing is fetched: an image is shown only from data of a safe kind.
import { type ReactElement, useCallback, useLayoutEffect, useMemo, useRef, useState } from 'react'
import type { ResultPart } from '../language/content.ts'
import { type Json, parseBounded } from '../lib/json/index.ts'
import { printable } from '../lib/text/index.ts'
import { plainTerminal, terminalSpans } from './ansi.ts'
import { type CodeLine, findLanguage, useHighlighted, Words } from './code.tsx'
import { JsonTree } from './json-tree.tsx'
import { type DiffLine, diffLines, foldSame, isUnifiedDiff, readUnifiedDiff } from './line-diff.ts'
import { CopyButton, LongText, SafeText } from './parts.tsx'
import { prettyJson } from './words.ts'

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

/** Terminal output: colours and weights, and no other control sequence. It follows its end, unless a person has scrolled away. */
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
  const box = useFollowedEnd(shown)
  return (
    <div className="tw-terminal">
      <div className="tw-terminal-top">
        <span>{label}</span>
        <CopyButton text={() => plainTerminal(text)} />
      </div>
      <section ref={box} className="tw-terminal-text" aria-label={label} tabIndex={0}>
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
      </section>
    </div>
  )
}

/** A box that stays at its end while its text grows. */
function useFollowedEnd(text: string): (element: HTMLElement | null) => void {
  const box = useRef<HTMLElement>(null)
  const isAtEnd = useRef(true)
  const attach = useCallback((element: HTMLElement | null) => {
    box.current = element
    if (!element) return undefined
    const look = (): void => {
      isAtEnd.current = element.scrollHeight - element.scrollTop - element.clientHeight < 24
    }
    element.addEventListener('scroll', look, { passive: true })
    return undefined
  }, [])
  // biome-ignore lint/correctness/useExhaustiveDependencies: runs whenever there is more text
  useLayoutEffect(() => {
    const element = box.current
    if (element && isAtEnd.current) element.scrollTop = element.scrollHeight
  }, [text])
  return attach
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
export function LinkAddress(props: { words: string; url: string; isInline?: boolean }): ReactElement {
  const { words, url, isInline = false } = props
  const inside = (
    <>
      {printable(words, 300)} <code>{printable(url, 300)}</code>{' '}
      <CopyButton text={url} label="Copy address" />
    </>
  )
  return isInline ? <span className="tw-address">{inside}</span> : <p className="tw-address">{inside}</p>
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
      {parts.map((part, index) =>
        saysTheSame(part, structured) ? null : <OutputPart key={index} part={part} />,
      )}
      {structured !== undefined && <JsonTree value={structured} label="Structured result" />}
    </div>
  )
}

/** A structured result is often given as text too, for models that read no other. It is shown once. */
function saysTheSame(part: ResultPart, structured: Json | undefined): boolean {
  if (structured === undefined || part.type !== 'text') return false
  const value = parseOutput(part.text)
  return value !== undefined && prettyJson(value, '') === prettyJson(structured, '')
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
  return (start !== '{' && start !== '[') || text.length > 2_000_000 ? undefined : parseBounded(text)
}
