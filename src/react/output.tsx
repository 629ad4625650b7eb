// The output of a tool, by its kind: text, JSON, a diff, a terminal, an image, a link. Nothing of it is rendered as
// markup, and nothing is fetched: an image is shown only from data of a safe kind.
import { type ReactElement, useState } from 'react'
import type { ResultPart } from '../language/content.ts'
import { type Json, parseBounded } from '../lib/json/index.ts'
import { printable } from '../lib/text/index.ts'
import { JsonTree } from './json-tree.tsx'
import { LaterDiff, LaterTerminal } from './later-parts.ts'
import { CopyButton, LongText } from './parts.tsx'
import { isUnifiedDiff } from './unified-diff.ts'
import { prettyJson } from './words.ts'

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
  if (text.includes('\u001b[') || text.includes('\u009b')) return <LaterTerminal text={text} />
  if (isUnifiedDiff(text)) return <LaterDiff patch={text} />
  const value = parseOutput(text)
  if (value !== undefined) return <JsonTree value={value} raw={text} label="Result" />
  return <LongText text={text} />
}

function parseOutput(text: string): Json | undefined {
  const start = text.trimStart()[0]
  return (start !== '{' && start !== '[') || text.length > 2_000_000 ? undefined : parseBounded(text)
}
