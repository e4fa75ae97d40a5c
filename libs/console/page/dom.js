// preact and htm, as all parts of the page use them.
import htm from 'htm';
import { h } from 'preact';

/** @typedef {((value: any) => unknown) | string | number | boolean | object | null | undefined} Slot values of a template; functions get an event */

/** Makes elements from a template: html`<b class=${name}>${text}</b>`. Texts become text nodes, never HTML. */
export const html = /** @type {(strings: TemplateStringsArray, ...values: Slot[]) => import('preact').VNode<any>} */ (
  /** @type {unknown} */ (htm.bind(h))
);
