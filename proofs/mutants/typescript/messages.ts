import type { Order } from '../run/messages';

/** Behaviour of a test without a mutant. */
export interface Coverage {
  readonly test: string;
  /** Time it took, by its own time and in fact, ms. */
  readonly virtualMs: number;
  readonly realMs: number;
  /** How often it ran mutants, by their id. */
  readonly hits: Readonly<Record<string, number>>;
  /** Mutants that run outside of tests: when their module is loaded. */
  readonly atLoad: readonly string[];
  /** Reason why it fails, and cannot be used. */
  readonly failure?: string | undefined;
}

export type Task =
  | { readonly kind: 'list' }
  | { readonly kind: 'cover'; readonly test: string }
  | {
      readonly kind: 'mutant';
      readonly id: string;
      readonly hits: number;
      /** True if the process was started with this mutant. */
      readonly loaded: boolean;
      readonly orders: readonly Order[];
    };

export interface Outcome {
  /** Test that failed; undefined if none did. */
  readonly killer?: string | undefined;
  readonly failure?: string | undefined;
  /** Memory of the process, MB. What failed tests leave behind makes it grow. */
  readonly megabytes: number;
  /** True if the test also fails without the mutant now, so that the process cannot be used any longer. */
  readonly spoiled?: boolean;
}

/** Message of a worker process: a result, or that it needs more time. */
export type Answer = { readonly result: unknown } | { readonly progressMs: number };
