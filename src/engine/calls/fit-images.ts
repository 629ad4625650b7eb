// Pictures in a tool's output that are larger than the session's model takes are scaled down before the output is
// recorded. A picture that cannot be scaled is replaced by a text that says why.
import type { ImagePart, ResultPart } from '../../language/content.ts'
import { countPixels, fitImage, type ImageLimits, isWithin } from '../../lib/images/index.ts'
import type { ToolOutput } from '../ports/index.ts'
import type { CallSession } from './call-session.ts'

/** The most pixels of all pictures of one result that have to be scaled. */
const mostPixelsOfResult = 200_000_000
const tooMany = `[image left out: the images of this result that have to be scaled have more than ${mostPixelsOfResult} pixels in all]`

/** Undefined: there is nothing to do, which is known at once. */
export function fitImages(
  { agent, state }: CallSession,
  output: ToolOutput,
  signal: AbortSignal,
): Promise<ToolOutput> | undefined {
  const limits = agent.model(state.settings).images
  if (!limits || output.parts.every(part => part.type !== 'image' || isWithin(part.url, limits)))
    return undefined
  return fitAll(output.parts, limits, state.owner, signal).then(parts => ({ ...output, parts }))
}

/** One after the other: those of one owner wait for each other anyway. */
async function fitAll(
  parts: readonly ResultPart[],
  limits: ImageLimits,
  owner: string,
  signal: AbortSignal,
): Promise<ResultPart[]> {
  const fitted: ResultPart[] = []
  let pixels = 0
  for (const part of parts) {
    if (part.type !== 'image' || isWithin(part.url, limits)) {
      fitted.push(part)
      continue
    }
    pixels += countPixels(part.url)
    if (pixels <= mostPixelsOfResult) fitted.push(...(await fitPart(part, limits, owner, signal)))
    else fitted.push({ type: 'text', text: tooMany })
  }
  return fitted
}

async function fitPart(
  part: ImagePart,
  limits: ImageLimits,
  owner: string,
  signal: AbortSignal,
): Promise<ResultPart[]> {
  const fitted = await fitImage(part.url, limits, owner, signal)
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
