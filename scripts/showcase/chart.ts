// A small bar chart as a PNG, drawn pixel by pixel: something for a page to show where a tool gives an image.
import { PNG } from 'pngjs'

export function chart(): string {
  const image = new PNG({ width: 280, height: 140 })
  const fill = (x: number, y: number, colour: readonly [number, number, number]): void => {
    const at = (y * image.width + x) * 4
    image.data.set([...colour, 255], at)
  }
  const heights = [38, 52, 47, 80, 96, 71, 110]
  for (let y = 0; y < image.height; y += 1)
    for (let x = 0; x < image.width; x += 1) {
      const bar = Math.floor((x - 8) / 38)
      const isBar =
        (x - 8) % 38 < 28 && x >= 8 && image.height - 10 - y <= (heights[bar] ?? 0) && y < image.height - 10
      fill(x, y, isBar ? [52, 81, 198] : y === image.height - 10 ? [90, 94, 104] : [246, 247, 249])
    }
  return `data:image/png;base64,${PNG.sync.write(image).toString('base64')}`
}
