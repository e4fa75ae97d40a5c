// The dialog of an action: what it would do to how many, then the question, then the result.
import { useEffect, useRef, useState } from 'preact/hooks';
import { api, nowMs } from '../api.js';
import { html } from '../dom.js';
import { asInput, count } from '../format.js';
import { useLoad } from '../hooks.js';
import { live } from '../live.js';
import { nameOf, partsOf, t } from '../words.js';
import { Sentence } from './value.js';

/**
 * @import { Action, Done, Preview, Target } from '../../src/console.types.ts'
 * @typedef {NonNullable<Action['input']>[number]} Field
 */

const UNITS = /** @type {const} */ ([
  ['s', 1_000],
  ['min', 60_000],
  ['h', 3_600_000],
  ['d', 86_400_000],
]);

/** Time after the last change of an input before the preview is read, ms. */
const SETTLE_MS = 300;

/** Text of the target. @param {Target} target */
export function textOfTarget(target) {
  if ('address' in target) return target.address.slice(2).join(' / ') || partsOf(target.address).join(' / ');
  const name = partsOf(target.list).join(' / ');
  return target.filter ? `${name} · ${target.filter}` : name;
}

/**
 * A native dialog: it holds the focus, closes with Esc, and gives the focus back.
 * @param {{ title: string, onClose: () => void, children: any }} props
 */
export function Modal({ title, onClose, children }) {
  const box = useRef(/** @type {HTMLDialogElement | null} */ (null));
  useEffect(() => {
    const before = /** @type {HTMLElement | null} */ (document.activeElement);
    box.current?.showModal();
    return () => before?.focus();
  }, []);
  return html`<dialog ref=${box} class="box" aria-labelledby="dialog-title" onClose=${onClose}>
    <h2 id="dialog-title">${title}</h2>
    ${children}
  </dialog>`;
}

/**
 * Input of an action. Reports numbers, and undefined for what is empty or invalid.
 * @param {{ field: Field, onInput: (value: string | number | undefined) => void }} props
 */
function Input({ field: { name, kind, required }, onInput }) {
  const [unit, setUnit] = useState(60_000);
  const [text, setText] = useState(kind === 'instant' ? asInput(nowMs() + 60_000) : '');
  useEffect(() => {
    const number = kind === 'instant' ? new Date(text).getTime() : Number(text) * (kind === 'duration' ? unit : 1);
    if (text.trim() === '') onInput(undefined);
    else if (kind === 'text') onInput(text);
    else onInput(Number.isFinite(number) ? Math.round(number) : undefined);
  }, [text, unit]);
  const type = kind === 'instant' ? 'datetime-local' : kind === 'text' ? 'text' : 'number';
  const step = kind === 'instant' ? '1' : 'any';
  return html`<label>
    ${nameOf(name)}${required ? '' : ` (${t('optional')})`}
    <span class="row">
      <input
        class="grow"
        type=${type}
        step=${step}
        value=${text}
        required=${required}
        onInput=${(event) => setText(event.target.value)}
      />
      ${
        kind === 'duration' &&
        html`<select aria-label=${t('unit')} value=${unit} onChange=${(event) => setUnit(Number(event.target.value))}>
          ${UNITS.map(([word, ms]) => html`<option value=${ms}>${t(`unit-${word}`)}</option>`)}
        </select>`
      }
    </span>
  </label>`;
}

/** Effect that an action would have. @param {{ preview: Preview }} props */
function Effect({ preview: { count: found, more, samples, sentence } }) {
  const rest = more ? t('andMore') : t('andRest', { count: count(found - samples.length) });
  const concerns = found === 0 && !more ? 'concernsNone' : more ? 'concernsMore' : 'concerns';
  return html`<p class="preview-count title">${t(concerns, { count: count(found) })}</p>
    ${
      samples.length > 0 &&
      html`<ul class="samples box">
        ${samples.map((sample) => html`<li class="text">${sample}</li>`)}
        ${(more || found > samples.length) && html`<li class="muted">${rest}</li>`}
      </ul>`
    }
    ${sentence && html`<${Sentence} sentence=${sentence} quiet />`}`;
}

/** @param {{ wanted: import('../hooks.js').Wanted, onClose: () => void }} props */
export function ActionDialog({ wanted: { section, action, target }, onClose }) {
  const fields = action.input ?? [];
  const [input, setInput] = useState(/** @type {Record<string, string | number | undefined>} */ ({}));
  const [failed, setFailed] = useState(/** @type {Error | undefined} */ (undefined));
  const [done, setDone] = useState(/** @type {Done | undefined} */ (undefined));
  const [busy, setBusy] = useState(false);
  const complete = fields.every(({ name, required }) => !required || input[name] !== undefined);
  const act = { section, action: action.name, target, input: /** @type {any} */ (input) };
  const { value, error, reload } = useLoad(
    JSON.stringify(act),
    (signal) => (complete ? api.preview(act, signal) : Promise.resolve(undefined)),
    { refresh: false, delayMs: fields.length > 0 ? SETTLE_MS : 0 },
  );
  const preview = complete ? value : undefined;
  const blocked = busy || preview === undefined || (preview.count === 0 && !preview.more);
  const submit = async (/** @type {Event} */ event) => {
    event.preventDefault();
    if (blocked) return;
    setBusy(true);
    setFailed(undefined);
    const { expected } = preview;
    await api.act({ ...act, ...(expected !== undefined && { expected }) }).then(setDone, setFailed);
    setBusy(false);
    // Also an action that failed may have had effects.
    live.changed(section);
  };
  const goOn = () => {
    setDone(undefined);
    reload();
  };
  const name = nameOf(action.name);
  const number = preview && preview.count > 1 ? ` (${count(preview.count)}${preview.more ? '+' : ''})` : '';
  const problem = failed ?? error;
  const question = () => html`
    ${fields.map(
      (field) =>
        html`<${Input}
          key=${field.name}
          field=${field}
          onInput=${(given) => setInput((all) => ({ ...all, [field.name]: given }))}
        />`,
    )}
    ${preview ? html`<${Effect} preview=${preview} />` : !problem && html`<p class="muted" role="status">${t(complete ? 'looking' : 'needsInput')}</p>`}
  `;
  const result = () =>
    html`<div role="status">
      ${done && (done.count > 0 || !done.refused) && html`<p class="result title">${t('did', { action: name, count: count(done.count) })}</p>`}
      ${done?.refused && html`<${Sentence} sentence=${done.refused} quiet />`}
    </div>`;
  return html`<${Modal} title=${name} onClose=${onClose}>
    <p class="muted text">${textOfTarget(target)}</p>
    <form onSubmit=${submit}>
      ${done ? result() : question()}
      ${problem && html`<p class="error text" role="alert">${t('failed')}: ${problem.message}</p>`}
      <div class="row end">
        <button type="button" onClick=${onClose} autofocus=${action.danger}>
          ${t(done ? 'close' : 'cancelDialog')}
        </button>
        ${
          !done &&
          html`<button type="submit" class=${action.danger ? 'danger' : 'primary'} disabled=${blocked}>
            ${busy ? t('working') : name + number}
          </button>`
        }
        ${done && preview?.more && html`<button type="button" class="primary" onClick=${goOn}>${t('goOn')}</button>`}
      </div>
    </form>
  <//>`;
}
