// Pictures in a tool's output that are larger than the session's model takes are scaled down before the output is recorded.
// What cannot be scaled becomes a text that says why.
import type { ImagePart, ResultPart } from '../language/content.ts'
import { fitImage, type ImageLimits, isWithin } from '../lib/images/index.ts'
import type { ToolOutput } from './ports.ts'
import type { Session } from './session.ts'

/** Undefined: there is nothing to do, which is known at once. */
export function fitImages({ agent, state }: Session, output: ToolOutput): Promise<ToolOutput> | undefined {
  if (output.parts.every(part => part.type !== 'image')) return undefined
  const limits = agent.model(state.settings).images
  if (!limits || output.parts.every(part => part.type !== 'image' || isWithin(part.url, limits)))
    return undefined
  return Promise.all(output.parts.map(part => fitPart(part, limits))).then(parts => ({
    ...output,
    parts: parts.flat(),
  }))
}

async function fitPart(part: ResultPart, limits: ImageLimits): Promise<ResultPart[]> {
  if (part.type !== 'image' || isWithin(part.url, limits)) return [part]
  const fitted = await fitImage(part.url, limits)
  if ('why' in fitted) return [{ type: 'text', text: `[image left out: ${fitted.why}]` }]
  const image: ImagePart = { ...part, url: fitted.url }
  const { from, width, height } = fitted
  return [
    image,
    {
      type: 'text',
      text: `[the image was scaled from ${from.width} × ${from.height} to ${width} × ${height} pixels]`,
    },
  ]
}
