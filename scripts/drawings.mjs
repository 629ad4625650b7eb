// Draws docs/drawings/*.svg from the .json file beside each: boxes and arrows with their places. `npm run drawings` writes them; a
// test compares them. An SVG follows the reader's light or dark setting and has a ground of its own, so that it can be read on any page.
import { globSync, readFileSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

const folder = fileURLToPath(new URL('../docs/drawings/', import.meta.url))

const style = `
  .ground { fill: #ffffff }
  text { font: 13px system-ui, -apple-system, 'Segoe UI', sans-serif; fill: #4b5563; text-anchor: middle }
  .name { font-weight: 600; font-size: 14px; fill: #111827 }
  .box { fill: #ffffff; stroke: #9ca3af }
  .outside { fill: #f3f4f6; stroke: #d1d5db }
  .group { fill: #eef2ff; stroke: #a5b4fc }
  .durable { fill: #ecfdf5; stroke: #34a36f }
  .refused { fill: #fef2f2; stroke: #dc6b6b }
  .arrow { fill: none; stroke: #3451c6; stroke-width: 1.75 }
  .quiet { stroke: #6b7280; stroke-dasharray: 4 4; stroke-width: 1.25 }
  .head { fill: #3451c6 }
  .label { font-size: 12px }
  @media (prefers-color-scheme: dark) {
    .ground { fill: #16181d }
    text { fill: #b6bcc8 }
    .name { fill: #f3f4f6 }
    .box { fill: #22252c; stroke: #6b7280 }
    .outside { fill: #1c1f25; stroke: #4b5563 }
    .group { fill: #1d2238; stroke: #5a6bc0 }
    .durable { fill: #14291f; stroke: #3f9c70 }
    .refused { fill: #331b1d; stroke: #b95c5c }
    .arrow { stroke: #9db0ff }
    .quiet { stroke: #8b93a3 }
    .head { fill: #9db0ff }
  }`

const escaped = text => text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')

/** Titles of areas stand at their top, those of boxes in their middle. */
function drawBox({ at: [x, y, width, height], kind = 'box', title, lines = [] }) {
  const isArea = kind === 'outside' || kind === 'group'
  const middle = x + width / 2
  const first = isArea ? y + 26 : y + height / 2 + 5 - lines.length * 9
  return [
    `<rect class="${kind}" x="${x}" y="${y}" width="${width}" height="${height}" rx="10"/>`,
    `<text class="name" x="${middle}" y="${first}">${escaped(title)}</text>`,
    ...lines.map(
      (line, index) =>
        `<text x="${middle}" y="${first + (isArea ? 30 : 20) + index * 18}">${escaped(line)}</text>`,
    ),
  ].join('\n')
}

function drawArrow({ through, kind = '', both = false, label, labelAt }) {
  const points = through.map(([x, y]) => `${x},${y}`).join(' ')
  const classes = ['arrow', kind].filter(Boolean).join(' ')
  const start = both ? ' marker-start="url(#head)"' : ''
  const words = label
    ? `\n<text class="label" x="${labelAt[0]}" y="${labelAt[1]}">${escaped(label)}</text>`
    : ''
  return `<polyline class="${classes}" points="${points}"${start} marker-end="url(#head)"/>${words}`
}

export function draw({ title, width, height, boxes, arrows }) {
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" role="img">
<title>${escaped(title)}</title>
<style>${style}
</style>
<defs><marker id="head" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="6" markerHeight="6" orient="auto-start-reverse"><path class="head" d="M0 0 8 4 0 8z"/></marker></defs>
<rect class="ground" width="${width}" height="${height}" rx="12"/>
${[...boxes.map(drawBox), ...arrows.map(drawArrow)].join('\n')}
</svg>
`
}

/** By file, relative to the folder. */
export function drawings() {
  return globSync('*.json', { cwd: folder })
    .sort()
    .map(file => {
      const svg = draw(JSON.parse(readFileSync(folder + file, 'utf8')))
      return { file: `${folder}${file.replace(/\.json$/, '.svg')}`, svg }
    })
}

if (process.argv[1] === fileURLToPath(import.meta.url))
  for (const { file, svg } of drawings()) writeFileSync(file, svg)
