// Which internet addresses are public. Everything that the IANA special-purpose registries list is not, and neither is an
// IPv6 address that carries an IPv4 address, because what it reaches depends on the network.
import { BlockList, isIPv4, isIPv6 } from 'node:net'

const special4 = blockList('ipv4', [
  ...['0.0.0.0/8', '10.0.0.0/8', '100.64.0.0/10', '127.0.0.0/8', '169.254.0.0/16', '172.16.0.0/12'],
  ...['192.0.0.0/24', '192.0.2.0/24', '192.88.99.0/24', '192.168.0.0/16', '198.18.0.0/15'],
  ...['198.51.100.0/24', '203.0.113.0/24', '224.0.0.0/4', '240.0.0.0/4'],
])
/** Only 2000::/3 is given out for the internet; these parts of it are not. */
const global6 = blockList('ipv6', ['2000::/3'])
const special6 = blockList('ipv6', ['2001::/23', '2001:db8::/32', '2002::/16', '3fff::/20'])
/** Cloud machines read their credentials from such an address, so it is never reached, whatever is allowed. */
const linkLocal = blockList('ipv4', ['169.254.0.0/16'])
const linkLocal6 = blockList('ipv6', ['fe80::/10', 'fd00:ec2::254/128'])

function blockList(family: 'ipv4' | 'ipv6', ranges: readonly string[]): BlockList {
  const list = new BlockList()
  for (const range of ranges) {
    const [network = '', bits] = range.split('/')
    list.addSubnet(network, Number(bits), family)
  }
  return list
}

/** False also for what is no address. */
export function isPublicAddress(address: string): boolean {
  if (isIPv4(address)) return !special4.check(address)
  return isIPv6(address) && global6.check(address, 'ipv6') && !special6.check(address, 'ipv6')
}

export function isLinkLocal(address: string): boolean {
  const mapped = mappedIPv4(address)
  if (mapped !== undefined) return linkLocal.check(mapped)
  if (isIPv4(address)) return linkLocal.check(address)
  return isIPv6(address) && linkLocal6.check(address, 'ipv6')
}

/** The IPv4 address in `::ffff:a.b.c.d`, in either spelling. */
function mappedIPv4(address: string): string | undefined {
  const found = /^(?:0*:)*:?(?:0*:)*ffff:(?:([0-9a-f]{1,4}):([0-9a-f]{1,4})|([0-9.]+))$/i.exec(address)
  if (!found || !isIPv6(address)) return undefined
  const [, high, low, dotted] = found
  if (dotted !== undefined) return dotted
  const [first, second] = [Number.parseInt(high ?? '', 16), Number.parseInt(low ?? '', 16)]
  return [first >> 8, first & 255, second >> 8, second & 255].join('.')
}
