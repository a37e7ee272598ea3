// Loads the fuzzer's addon from the copy that the loader of this machine accepts (addon.ts).
const { dlopen } = process
process.dlopen = (module, path, ...rest) =>
  dlopen(module, path === process.env.HOLDFAST_FUZZ_ADDON ? process.env.HOLDFAST_FUZZ_COPY : path, ...rest)
