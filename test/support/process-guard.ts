export { guardProcess } from '../../libs/testing/src/servers/process-guard';
