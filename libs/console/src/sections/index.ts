import type { Section, SectionContext, SectionFactory } from '../console.types';
import { jobsSection } from './jobs';
import { locksSection } from './locks';
import { queuesSection } from './queues';

/** All sections, in the order of the page. */
const FACTORIES: readonly SectionFactory[] = [queuesSection, locksSection, jobsSection];

/**
 * Makes the sections of the libs that the app imported.
 *
 * @param app finds a service of the app by the name of its class; undefined without one
 */
export function createSections(app: { find(className: string): unknown }, context: SectionContext): Section[] {
  return FACTORIES.flatMap((factory) => factory(app, context) ?? []);
}
