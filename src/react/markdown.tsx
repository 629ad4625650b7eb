// Markdown from a model, as elements. No HTML of it is rendered: tags are shown as text. Nothing is loaded: an image is shown only
// from data. A link is one only if its address is of the web and cannot deceive; its host is shown beside other words.
import type { Token, Tokens } from 'marked'
import { memo, type ReactElement, type ReactNode, useRef } from 'react'
import { findSuspicions } from '../language/suspicions.ts'
import { printable } from '../lib/text/index.ts'
import { Code } from './code.tsx'
import {
  closeEnd,
  type GrowingBlocks,
  growBlocks,
  longestMarkdown,
  type MarkdownBlock,
} from './markdown-blocks.ts'
import { Image, LinkAddress } from './output.tsx'
import { LongText } from './parts.tsx'

export type MarkdownProps = {
  text: string
  /** More of it may come: its end is closed for the moment. */
  isLive?: boolean
}

export function Markdown({ text, isLive = false }: MarkdownProps): ReactElement {
  const kept = useRef<GrowingBlocks>(undefined)
  const blocks =
    text.length > longestMarkdown ? undefined : tryBlocks(kept, isLive ? closeEnd(text) : text, isLive)
  if (!blocks)
    return (
      <div className="tw-markdown">
        <LongText text={text} />
      </div>
    )
  return (
    <div className="tw-markdown">
      {blocks.map(({ token, from }) => (
        <Block key={from} token={token} raw={token.raw} />
      ))}
    </div>
  )
}

/** Undefined: it nests too deeply to be read. */
function tryBlocks(
  kept: { current: GrowingBlocks | undefined },
  text: string,
  isLive: boolean,
): MarkdownBlock[] | undefined {
  try {
    // A finished text is read as a whole: the address of a link may stand below it.
    kept.current = growBlocks(isLive || kept.current?.text === text ? kept.current : undefined, text)
    return kept.current.blocks
  } catch {
    return undefined
  }
}

/** Tokens with the same source look the same, so a block that is settled is not drawn again. */
const Block = memo(
  function Block({ token }: { token: Token; raw: string }): ReactElement | null {
    return <>{renderBlock(token)}</>
  },
  (before, now) => before.raw === now.raw && before.token.type === now.token.type,
)

const blockRenderers: Readonly<Record<string, ((token: never) => ReactNode) | undefined>> = {
  space: () => null,
  def: () => null,
  hr: () => <hr />,
  heading: ({ depth, tokens }: Tokens.Heading) => <Heading depth={depth}>{renderInline(tokens)}</Heading>,
  paragraph: ({ tokens }: Tokens.Paragraph) => <p>{renderInline(tokens)}</p>,
  blockquote: ({ tokens }: Tokens.Blockquote) => <blockquote>{renderBlocks(tokens)}</blockquote>,
  code: ({ text, lang }: Tokens.Code) => <Code text={text} language={lang?.split(/\s/)[0]} />,
  list: (token: Tokens.List) => <List token={token} />,
  table: (token: Tokens.Table) => <Table token={token} />,
  html: ({ raw }: Tokens.HTML) => <p>{shown(raw.trimEnd())}</p>,
}

function renderBlock(token: Token): ReactNode {
  const render = blockRenderers[token.type] as ((token: Token) => ReactNode) | undefined // each takes the token of its own type
  if (render) return render(token)
  return renderInline([token])
}

function renderBlocks(tokens: readonly Token[]): ReactNode {
  return tokens.map((token, at) => <Part key={at}>{renderBlock(token)}</Part>)
}

function Part({ children }: { children: ReactNode }): ReactElement {
  return <>{children}</>
}

/** A page has headings of its own: these are below them. */
function Heading({ depth, children }: { depth: number; children: ReactNode }): ReactElement {
  const Level = depth === 1 ? 'h4' : depth === 2 ? 'h5' : 'h6'
  return <Level className={`tw-heading tw-heading-${depth}`}>{children}</Level>
}

function List({ token: { ordered, start, items } }: { token: Tokens.List }): ReactElement {
  const rows = items.map((item, at) => (
    <li key={at} className={item.task ? 'tw-task' : undefined}>
      {item.task && <span className="tw-task-mark">{item.checked ? '☑ ' : '☐ '}</span>}
      {renderBlocks(item.tokens.filter(({ type }) => type !== 'checkbox'))}
    </li>
  ))
  return ordered ? <ol start={typeof start === 'number' ? start : 1}>{rows}</ol> : <ul>{rows}</ul>
}

function Table({ token: { header, rows } }: { token: Tokens.Table }): ReactElement {
  const cell = ({
    tokens,
    align,
  }: Tokens.TableCell): { className: string | undefined; children: ReactNode } => ({
    className: align ? `tw-align-${align}` : undefined,
    children: renderInline(tokens),
  })
  return (
    // A region that scrolls has to be reachable with the keyboard.
    <section className="tw-markdown-table" aria-label="Table" tabIndex={0}>
      <table>
        <thead>
          <tr>
            {header.map((each, at) => (
              <th key={at} scope="col" {...cell(each)} />
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row, index) => (
            <tr key={index}>
              {row.map((each, at) => (
                <td key={at} {...cell(each)} />
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  )
}

const inlineRenderers: Readonly<Record<string, ((token: never) => ReactNode) | undefined>> = {
  text: ({ text, tokens }: Tokens.Text) => (tokens ? renderInline(tokens) : shown(decodeEntities(text))),
  escape: ({ text }: Tokens.Escape) => shown(text),
  strong: ({ tokens }: Tokens.Strong) => <strong>{renderInline(tokens)}</strong>,
  em: ({ tokens }: Tokens.Em) => <em>{renderInline(tokens)}</em>,
  del: ({ tokens }: Tokens.Del) => <del>{renderInline(tokens)}</del>,
  codespan: ({ text }: Tokens.Codespan) => <code className="tw-codespan">{shown(text)}</code>,
  br: () => <br />,
  link: (token: Tokens.Link) => <MarkdownLink token={token} />,
  image: ({ href, text }: Tokens.Image) => <Image url={href} alt={printable(text, 200)} />,
}

function renderInline(tokens: readonly Token[]): ReactNode {
  return tokens.map((token, at) => {
    const render = inlineRenderers[token.type] as ((token: Token) => ReactNode) | undefined // as above
    return <Part key={at}>{render ? render(token) : shown(token.raw)}</Part>
  })
}

function MarkdownLink({ token: { href, text, tokens } }: { token: Tokens.Link }): ReactElement {
  const checked = checkLink(href)
  if (!checked) return <LinkAddress words={`${text} (not opened from here):`} url={href} isInline />
  const { url, host } = checked
  const words = text.toLowerCase()
  return (
    <a
      className="tw-link"
      href={url}
      target="_blank"
      rel="noopener noreferrer nofollow"
      title={printable(url, 300)}
    >
      {renderInline(tokens)}
      {!words.includes(host) && <span className="tw-host"> ({host})</span>}
    </a>
  )
}

/** The address of a link, if a click may open it. Undefined: it is shown as text. */
function checkLink(href: string): { url: string; host: string } | undefined {
  if (findSuspicions(href).length > 0) return undefined
  let url: URL
  try {
    url = new URL(decodeEntities(href))
  } catch {
    return undefined
  }
  const { protocol, username, password, host, pathname } = url
  if (username !== '' || password !== '') return undefined
  if (protocol === 'mailto:') return { url: url.href, host: pathname.toLowerCase() }
  if (protocol !== 'https:' && protocol !== 'http:') return undefined
  return { url: url.href, host }
}

const entities: Readonly<Record<string, string>> = {
  amp: '&',
  lt: '<',
  gt: '>',
  quot: '"',
  apos: "'",
  nbsp: '\u00a0',
}

/** In Markdown a character may be written as in HTML. */
function decodeEntities(text: string): string {
  if (!text.includes('&')) return text
  return text.replace(/&(?:#(\d{1,7})|#[xX]([\da-fA-F]{1,6})|(\w{2,6}));/g, (whole, decimal, hex, name) => {
    if (name !== undefined) return entities[name] ?? whole
    const code = decimal === undefined ? Number.parseInt(hex, 16) : Number(decimal)
    return code > 0 && code <= 0x10_ff_ff ? String.fromCodePoint(code) : whole
  })
}

function shown(text: string): string {
  return printable(text, { multiline: true })
}
