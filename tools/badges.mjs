// @ts-check
// npm run generate:badges: writes docs/badges.svg from package.json, so that the badges are true without asking a service. The
// release updates them with the version. test/front-page.spec.ts compares the picture, and its text in both front pages.
import { readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { runAsTool } from './run-as-tool.mjs';

const ROOT = new URL('../', import.meta.url);
const HEIGHT = 20;
const GAP = 6;
const PADDING = 7;
/** Width of a character of the font below, at its size. */
const CHARACTER = 6.4;

/**
 * @typedef {{
 *   version: string, license: string, engines: { node: string },
 *   dependencies: Record<string, string>, peerDependencies: Record<string, string>,
 * }} Manifest
 */

/** Returns the major versions of a range such as `^11.0.1 || ^12.0.0`. @param {string} [range] */
const majors = (range = '') => [...range.matchAll(/\^(\d+)/g)].map(([, major]) => major).join(', ');

/**
 * Returns name and value of each badge.
 * @param {Manifest} manifest
 * @returns {[string, string][]}
 */
export function badgesOf({ version, license, engines, dependencies, peerDependencies }) {
  return [
    ['version', version],
    ['NestJS', majors(peerDependencies['@nestjs/core'])],
    ['ioredis', majors(peerDependencies.ioredis)],
    ['node-redis', majors(peerDependencies.redis)],
    ['Node.js', engines.node.replaceAll(/\D*(\d+\.\d+)\.\d+/g, ', $1+').replace(', ', '')],
    ['dependencies', String(Object.keys(dependencies).length)],
    ['licence', license],
  ];
}

/** Returns the text for readers who do not see the picture. @param {[string, string][]} badges */
export const textOf = (badges) => badges.map((badge) => badge.join(' ')).join(' · ');

/** Returns the picture. @param {[string, string][]} badges */
export function svgOf(badges) {
  let left = 0;
  const parts = badges.flatMap(([name, value]) => {
    const widths = [name, value].map((text) => Math.round(text.length * CHARACTER) + 2 * PADDING);
    const [named = 0, valued = 0] = widths;
    const at = left;
    left += named + valued + GAP;
    /** @param {string} text @param {number} x @param {number} width */
    const label = (text, x, width) =>
      `<text x="${x + width / 2}" y="14" textLength="${width - 2 * PADDING}" lengthAdjust="spacingAndGlyphs">${text}</text>`;
    return [
      `<rect x="${at}" width="${named + valued}" height="${HEIGHT}" rx="3" fill="#1f6feb"/>`,
      `<path d="M${at + named} 0H${at + 3}a3 3 0 0 0-3 3v14a3 3 0 0 0 3 3h${named - 3}z" fill="#444c56"/>`,
      label(name, at, named),
      label(value, at + named, valued),
    ];
  });
  const width = left - GAP;
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${HEIGHT}" viewBox="0 0 ${width} ${HEIGHT}" role="img">`,
    `<title>${textOf(badges)}</title>`,
    '<g font-family="Verdana,DejaVu Sans,sans-serif" font-size="11" fill="#fff" text-anchor="middle">',
    ...parts,
    '</g>',
    '</svg>',
    '',
  ].join('\n');
}

/** @returns {Manifest} */
const manifest = () => JSON.parse(readFileSync(new URL('package.json', ROOT), 'utf8'));

runAsTool(import.meta.url, () => {
  const badges = badgesOf(manifest());
  writeFileSync(fileURLToPath(new URL('docs/badges.svg', ROOT)), svgOf(badges));
  console.log(textOf(badges));
  return 0;
});
