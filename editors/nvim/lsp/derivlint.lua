--- The configuration of derivlint's language server, for Neovim 0.11 and newer.
---
--- Put this file into a folder `lsp` of 'runtimepath' (~/.config/nvim/lsp/derivlint.lua), then in init.lua:
---
---     vim.lsp.enable('derivlint')

--- The folder that holds what the server should know of: a PyTorch checkout, else a configuration, else a repository.
--- vim.fs.root would give the folder of native_functions.yaml itself for a marker with a path.
---@param path string
---@return string
local function root_of(path)
  local checkout = vim.fs.find(function(name, parent)
    return name == 'aten' and vim.uv.fs_stat(parent .. '/aten/src/ATen/native/native_functions.yaml') ~= nil
  end, { path = vim.fs.dirname(path), upward = true, type = 'directory' })[1]
  if checkout then
    return vim.fs.dirname(checkout)
  end
  return vim.fs.root(path, { 'derivlint.toml', 'pyproject.toml' }) or vim.fs.root(path, '.git') or vim.fs.dirname(path)
end

--- Shows the C++ that an entry becomes in a window of its own; the server's code lenses call it.
---@param command lsp.Command
---@param context { client_id: integer }
local function show_generated_code(command, context)
  local client = assert(vim.lsp.get_client_by_id(context.client_id))
  local request = { command = 'derivlint.generatedCode', arguments = command.arguments }
  client:request('workspace/executeCommand', request, function(failure, code)
    if failure or type(code) ~= 'string' then
      vim.notify('derivlint: ' .. (failure and failure.message or 'the entry becomes no code'), vim.log.levels.WARN)
      return
    end
    vim.cmd.vnew()
    vim.bo.buftype, vim.bo.bufhidden, vim.bo.swapfile = 'nofile', 'wipe', false
    vim.api.nvim_buf_set_lines(0, 0, -1, false, vim.split(code, '\n'))
    vim.bo.modifiable, vim.bo.filetype = false, 'cpp'
  end)
end

---@type vim.lsp.Config
return {
  cmd = { 'derivlint', 'lsp' },
  filetypes = { 'yaml' },
  -- without a call of on_dir the server is not started, so other YAML files are left alone
  root_dir = function(bufnr, on_dir)
    local name = vim.api.nvim_buf_get_name(bufnr)
    if vim.fs.basename(name):match('^derivatives.*%.yaml$') then
      on_dir(root_of(name))
    end
  end,
  init_options = {
    -- as `derivlint check --config`, for example { 'min-severity="error"' }
    config = {},
    -- names of parameters and saved variables, where vim.lsp.inlay_hint is enabled
    inlayHints = false,
    -- whether the configuration of every repository counts; else only what makes a check stricter does
    trusted = false,
    -- code lenses, which :lua vim.lsp.codelens.refresh() shows and :lua vim.lsp.codelens.run() follows
    showGeneratedCode = true,
  },
  commands = { ['derivlint.showGeneratedCode'] = show_generated_code },
}
