// Values, sentences and links, as all screens show them.
import { isValidElement } from 'preact';
import { useState } from 'preact/hooks';
import { nowMs } from '../api.js';
import { html } from '../dom.js';
import { absolute, bytes, count, duration, payloadText, since } from '../format.js';
import { page } from '../hooks.js';
import { hashOf, hashOfTarget } from '../route.js';
import { settings } from '../settings.js';
import { nameOf, piecesOf, stateOf, t } from '../words.js';

/**
 * @import { Sentence as ServerSentence, Value } from '../../src/console.types.ts'
 * @typedef {Value | ServerSentence | import('preact').VNode | undefined} AnyValue a value of the server, or what a screen made itself
 */

/** The time since an instant, and on hover the instant itself; or the other way round. @param {{ atMs: number }} props */
export function Instant({ atMs }) {
  const exact = absolute(atMs);
  const texts = [since(atMs, nowMs()), exact];
  if (settings.exactTimes) texts.reverse();
  return html`<time class="num" datetime=${exact.replace(/ (?=[+-])/, '')} title=${texts[1]}>${texts[0]}</time>`;
}

/** @param {{ value: unknown }} props */
function Payload({ value }) {
  const [copied, setCopied] = useState(false);
  const text = payloadText(value);
  const copy = () => navigator.clipboard.writeText(text).then(() => setCopied(true));
  return html`<pre class="box" tabindex="0" aria-label=${t('payload')}>${text}</pre>
    ${navigator.clipboard && html`<button class="small" onClick=${copy}>${copied ? '✓ ' : ''}${t('copy')}</button>`}`;
}

/** @param {{ value: AnyValue, wide?: boolean }} props wide: there is room for a whole payload */
export function Val({ value, wide = false }) {
  if (value === null || value === undefined || value === '') return html`<span class="muted">–</span>`;
  if (isValidElement(value)) return value;
  if (typeof value === 'number') return html`<span class="num">${count(value)}</span>`;
  if (typeof value === 'boolean') return html`<span>${t(value ? 'yes' : 'no')}</span>`;
  if (typeof value === 'string') return html`<span class="text">${stateOf(value)}</span>`;
  if ('code' in value) return html`<${Sentence} sentence=${value} quiet />`;
  if ('atMs' in value) return html`<${Instant} atMs=${value.atMs} />`;
  if ('ms' in value) return html`<span class="num" title=${`${count(value.ms)} ms`}>${duration(value.ms)}</span>`;
  if ('bytes' in value) return html`<span class="num">${bytes(value.bytes)}</span>`;
  if ('link' in value) return html`<a href=${hashOf(value.link)}>${value.text === '' ? t('noName') : value.text}</a>`;
  const { payload } = /** @type {{ payload: unknown }} */ (value);
  if (payload === undefined) return html`<span class="muted">${t('hidden')}</span>`;
  if (wide) return html`<${Payload} value=${payload} />`;
  return html`<code>${(typeof payload === 'string' ? payload : JSON.stringify(payload)).slice(0, 120)}</code>`;
}

/** A value that has only a name, whose end is its unit. @param {{ name: string, value: string | number }} props */
export function NamedValue({ name, value }) {
  if (typeof value !== 'number') return html`<b class="text">${name === 'state' ? stateOf(value) : value}</b>`;
  if (/AtMs$/i.test(name)) return html`<${Instant} atMs=${value} />`;
  const write = name.endsWith('Ms') ? duration : name.endsWith('Bytes') ? bytes : count;
  return html`<b class="num">${write(value)}</b>`;
}

/** Level of a sentence or a row as a coloured dot with a name. @param {{ level: ServerSentence['level'] }} props */
export const Dot = ({ level }) => html`<i class=${`dot ${level}`} role="img" aria-label=${t(`level-${level}`)}></i>`;

/**
 * A sentence, the times that it does not name itself, and the action that puts right what it reports.
 * @param {{ sentence: ServerSentence, quiet?: boolean }} props quiet: only the sentence
 */
export function Sentence({ sentence, quiet = false }) {
  const { values = {}, fix, level } = sentence;
  const pieces = piecesOf(sentence);
  const named = pieces.map((piece) => typeof piece === 'object' && piece.value);
  const extra = Object.entries(values).filter(
    ([name, value]) => /Ms$/.test(name) && typeof value === 'number' && !named.includes(name),
  );
  return html`<div class=${`sentence ${level}`}>
    <${Dot} level=${level} />
    <div class="grow text">
      <span class="said">
        ${pieces.map((piece) =>
          typeof piece === 'string' ? piece : html`<${NamedValue} name=${piece.value} value=${values[piece.value]} />`,
        )}
      </span>
      ${
        !quiet &&
        extra.map(
          ([name, value]) =>
            html` <span class="extra">${nameOf(name)} <${NamedValue} name=${name} value=${value} /></span>`,
        )
      }
      ${
        !quiet &&
        fix &&
        hashOfTarget(fix) !== location.hash.split('?')[0] &&
        html` <a class="extra" href=${hashOfTarget(fix)}
          >${'list' in fix ? nameOf(fix.list[1] ?? '') : fix.address.at(-1)}</a
        >`
      }
    </div>
    ${
      !quiet &&
      fix &&
      page.ask &&
      html`<button
        class="small"
        onClick=${() => {
          const { action, ...target } = fix;
          page.ask?.(('list' in fix ? fix.list : fix.address)[0] ?? '', action, target);
        }}
      >
        ${nameOf(fix.action)}…
      </button>`
    }
  </div>`;
}
